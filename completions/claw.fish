# fish completion of claw; generated, do not edit
complete -c claw -f
complete -c claw -n '__fish_use_subcommand' -a agent -d 'Talk to the agent, with tools and memory.'
complete -c claw -n '__fish_use_subcommand' -a ask -d 'Ask one question; piped text is put under it.'
complete -c claw -n '__fish_use_subcommand' -a completion -d 'Print the completion script of a shell.'
complete -c claw -n '__fish_use_subcommand' -a config -d 'Read and change settings.'
complete -c claw -n '__fish_use_subcommand' -a doctor -d 'Look at everything once and say what to do.'
complete -c claw -n '__fish_use_subcommand' -a memory -d 'Store, search and look after memories.'
complete -c claw -n '__fish_use_subcommand' -a provider -d 'See which models are at hand and whether they answer.'
complete -c claw -n '__fish_use_subcommand' -a session -d 'Look at kept conversations.'
complete -c claw -n '__fish_use_subcommand' -a tool -d 'The agent\'s tools from the shell.'
complete -c claw -l config-dir -r -F -d 'Where config.toml lies (default ~/.claw).'
complete -c claw -s w -l workspace -r -F -d 'Where memory and sessions lie.'
complete -c claw -l json -d 'One JSON document on stdout.'
complete -c claw -l jsonl -d 'One JSON object a line where results stream.'
complete -c claw -s q -l quiet -d 'Nothing on stderr but errors.'
complete -c claw -s v -l verbose -d 'Say more on stderr; twice: still more.'
complete -c claw -l log-format -x -d 'Form of the lines on stderr.'
complete -c claw -n '__fish_use_subcommand' -s V -l version -d 'Print the version.'
complete -c claw -n '__fish_use_subcommand' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from agent' -s m -l model -x -d 'Model to ask.'
complete -c claw -n '__fish_seen_subcommand_from agent' -s p -l provider -x -d 'Provider to ask, or custom:URL.'
complete -c claw -n '__fish_seen_subcommand_from agent' -s t -l temperature -x -d 'Sampling temperature.'
complete -c claw -n '__fish_seen_subcommand_from agent' -s s -l system -x -d 'What the system prompt begins with.'
complete -c claw -n '__fish_seen_subcommand_from agent' -l session -x -d 'Go on in this session and keep the answer there.'
complete -c claw -n '__fish_seen_subcommand_from agent' -l tools -x -d 'Tools of the agent, by comma, or none; default all.'
complete -c claw -n '__fish_seen_subcommand_from agent' -l yes -d 'Approve the tool calls that would ask.'
complete -c claw -n '__fish_seen_subcommand_from agent' -l no-memory -d 'Neither recall nor keep memories.'
complete -c claw -n '__fish_seen_subcommand_from agent' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from agent' -F
complete -c claw -n '__fish_seen_subcommand_from ask' -s m -l model -x -d 'Model to ask.'
complete -c claw -n '__fish_seen_subcommand_from ask' -s p -l provider -x -d 'Provider to ask, or custom:URL.'
complete -c claw -n '__fish_seen_subcommand_from ask' -s t -l temperature -x -d 'Sampling temperature.'
complete -c claw -n '__fish_seen_subcommand_from ask' -s s -l system -x -d 'What the system prompt begins with.'
complete -c claw -n '__fish_seen_subcommand_from ask' -s f -l file -r -F -d 'Text or image to put under the question; repeatable.'
complete -c claw -n '__fish_seen_subcommand_from ask' -s c -l continue -d 'Go on from the last question.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l session -x -d 'Go on in this session and keep the answer there.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l tools -x -d 'Tools the model may call, by comma; default none.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l yes -d 'Approve the tool calls that would ask.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l no-memory -d 'Do not look into memory.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l schema -r -F -d 'JSON Schema that the answer must fit.'
complete -c claw -n '__fish_seen_subcommand_from ask' -s x -l extract -d 'Print only the first code block.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l max-tokens -x -d 'Longest answer, in tokens.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l timeout -x -d 'Give up after this time.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l no-log -d 'Keep nothing of this question.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l dry-run -d 'Print the request and send nothing.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l stdin-limit -x -d 'Most that is taken from stdin.'
complete -c claw -n '__fish_seen_subcommand_from ask' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from ask' -F
complete -c claw -n '__fish_seen_subcommand_from completion' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from completion' -F
complete -c claw -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from show get set unset check path edit schema' -a show -d 'Show every setting that is in force.'
complete -c claw -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from show get set unset check path edit schema' -a get -d 'Print one setting, its default where it is not set.'
complete -c claw -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from show get set unset check path edit schema' -a set -d 'Change one setting in config.toml.'
complete -c claw -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from show get set unset check path edit schema' -a unset -d 'Remove a setting or a table from config.toml.'
complete -c claw -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from show get set unset check path edit schema' -a check -d 'Read every setting and say what is wrong.'
complete -c claw -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from show get set unset check path edit schema' -a path -d 'Print where the settings and the workspace are.'
complete -c claw -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from show get set unset check path edit schema' -a edit -d 'Open config.toml in an editor and check it before it counts.'
complete -c claw -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from show get set unset check path edit schema' -a schema -d 'Print a JSON Schema of all settings, for editors.'
complete -c claw -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from show get set unset check path edit schema' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from show' -l origin -d 'Say who set each: config.toml with its line, a variable of the environment, a flag, or nobody (default).'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from show' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from show' -F
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from get' -l reveal -d 'Print a secret as it is.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from get' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from get' -F
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from set' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from set' -F
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from unset' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from unset' -F
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from check' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from check' -F
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from path' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from path' -F
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from edit' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from edit' -F
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from schema' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from schema' -F
complete -c claw -n '__fish_seen_subcommand_from doctor' -l fix -d 'Mend what can be mended safely.'
complete -c claw -n '__fish_seen_subcommand_from doctor' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from doctor' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a store -d 'Remember a text under a key.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a recall -d 'Search memory, best match first.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a get -d 'Print one memory.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a list -d 'List memories, newest change first.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a forget -d 'Remove memories by key, or by category and age.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a count -d 'Print how many memories there are.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a stats -d 'Print numbers by category and whether the store is well.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a snapshot -d 'Write the core memories to MEMORY_SNAPSHOT.md.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a hydrate -d 'Bring memories back from MEMORY_SNAPSHOT.md.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a export -d 'Print every memory as one JSON object a line, oldest first.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -a import -d 'Read memories, one JSON object a line; all of them or none.'
complete -c claw -n '__fish_seen_subcommand_from memory; and not __fish_seen_subcommand_from store recall get list forget count stats snapshot hydrate export import' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from store' -l category -x -d 'core, daily, conversation or any other word.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from store' -l session -x -d 'Only this session (and its owner) sees it.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from store' -l stdin-limit -x -d 'The most to read from stdin.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from store' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from store' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from recall' -s n -l limit -x -d 'At most so many.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from recall' -l category -x -d 'core, daily, conversation or any other word.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from recall' -l session -x -d 'What this session sees: its own memories and those without one.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from recall' -l since -x -d 'Made at or after: 2026-11-20, a full time, or an age as 30d.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from recall' -l until -x -d 'Made at or before.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from recall' -l min-score -x -d 'Leave out what scores less (0 to 1).'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from recall' -l explain -d 'Say how each score was made.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from recall' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from recall' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from get' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from get' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from list' -l category -x -d 'core, daily, conversation or any other word.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from list' -l session -x -d 'What this session sees: its own memories and those without one.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from list' -l since -x -d 'Made at or after: 2026-11-20, a full time, or an age as 30d.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from list' -l until -x -d 'Made at or before.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from list' -s n -l limit -x -d 'Memories on a page.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from list' -l offset -x -d 'Leave out so many.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from list' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from list' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from forget' -l category -x -d 'core, daily, conversation or any other word.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from forget' -l older-than -x -d 'Last changed longer ago: 30d, 12h, or a time.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from forget' -l yes -d 'Do not ask before removing by rule.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from forget' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from forget' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from count' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from count' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from stats' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from stats' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from snapshot' -l check -d 'Only say whether the file is current (exit 1 when not).'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from snapshot' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from snapshot' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from hydrate' -l replace -l merge -d 'Whether the file wins over existing keys (default: they stay).'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from hydrate' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from hydrate' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from export' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from export' -F
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from import' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from memory; and __fish_seen_subcommand_from import' -F
complete -c claw -n '__fish_seen_subcommand_from provider; and not __fish_seen_subcommand_from list test models' -a list -d 'List the providers that are set up, the one in use first.'
complete -c claw -n '__fish_seen_subcommand_from provider; and not __fish_seen_subcommand_from list test models' -a test -d 'Ask providers for a real answer and say what works.'
complete -c claw -n '__fish_seen_subcommand_from provider; and not __fish_seen_subcommand_from list test models' -a models -d 'Print the models that a provider offers, one a line.'
complete -c claw -n '__fish_seen_subcommand_from provider; and not __fish_seen_subcommand_from list test models' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from list' -l all -d 'Every provider that claw knows.'
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from list' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from list' -F
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from test' -s m -l model -x -d 'Model to ask.'
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from test' -l timeout -x -d 'The time for one answer (provider_timeout_secs).'
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from test' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from test' -F
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from models' -l timeout -x -d 'The time for one answer (provider_timeout_secs).'
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from models' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from provider; and __fish_seen_subcommand_from models' -F
complete -c claw -n '__fish_seen_subcommand_from session; and not __fish_seen_subcommand_from list show clear export' -a list -d 'List kept conversations, the latest first.'
complete -c claw -n '__fish_seen_subcommand_from session; and not __fish_seen_subcommand_from list show clear export' -a show -d 'Show what was said in a conversation.'
complete -c claw -n '__fish_seen_subcommand_from session; and not __fish_seen_subcommand_from list show clear export' -a clear -d 'Remove conversations. Exits 1 when one is not there.'
complete -c claw -n '__fish_seen_subcommand_from session; and not __fish_seen_subcommand_from list show clear export' -a export -d 'Print a conversation as it is kept: one JSON object a line.'
complete -c claw -n '__fish_seen_subcommand_from session; and not __fish_seen_subcommand_from list show clear export' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from list' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from list' -F
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from show' -s n -l limit -x -d 'Only the last N messages.'
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from show' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from show' -F
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from clear' -l all -d 'Remove every session; needs --yes.'
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from clear' -l yes -d 'Do not ask.'
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from clear' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from clear' -F
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from export' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from export' -F
complete -c claw -n '__fish_seen_subcommand_from tool; and not __fish_seen_subcommand_from list run' -a list -d 'List the agent\'s tools and what they do.'
complete -c claw -n '__fish_seen_subcommand_from tool; and not __fish_seen_subcommand_from list run' -a run -d 'Run one tool under the same policy as the agent\'s.'
complete -c claw -n '__fish_seen_subcommand_from tool; and not __fish_seen_subcommand_from list run' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from tool; and __fish_seen_subcommand_from list' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from tool; and __fish_seen_subcommand_from list' -F
complete -c claw -n '__fish_seen_subcommand_from tool; and __fish_seen_subcommand_from run' -l yes -d 'Approve this one call.'
complete -c claw -n '__fish_seen_subcommand_from tool; and __fish_seen_subcommand_from run' -l help -d 'Show this message and exit.'
complete -c claw -n '__fish_seen_subcommand_from tool; and __fish_seen_subcommand_from run' -F
