# bash completion of claw; generated, do not edit
_claw_command() {
    case "$1" in
        "acp"|"agent"|"ask"|"backup"|"backup create"|"backup verify"|"backup restore"|"channel"|"channel list"|"channel doctor"|"channel setup"|"completion"|"config"|"config show"|"config get"|"config set"|"config unset"|"config check"|"config path"|"config edit"|"config apply"|"config history"|"config undo"|"config schema"|"cost"|"cron"|"cron list"|"cron add"|"cron show"|"cron update"|"cron remove"|"cron pause"|"cron resume"|"cron next"|"cron run"|"cron runs"|"do"|"doctor"|"estop"|"gateway"|"gateway serve"|"gateway token"|"gateway pair"|"gateway link"|"help"|"hook"|"hook list"|"hook test"|"listen"|"log"|"log list"|"log search"|"log show"|"log export"|"log rm"|"map"|"mcp"|"mcp list"|"mcp add"|"mcp test"|"mcp accept"|"mcp serve"|"memory"|"memory store"|"memory recall"|"memory get"|"memory list"|"memory forget"|"memory count"|"memory stats"|"memory exam"|"memory conflicts"|"memory snapshot"|"memory hydrate"|"memory export"|"memory import"|"memory history"|"memory undo"|"memory index"|"memory pin"|"memory reindex"|"memory check"|"memory hygiene"|"memory model"|"migrate"|"model"|"model list"|"model alias"|"onboard"|"permission"|"permission allow"|"permission list"|"permission revoke"|"permission show"|"prove"|"provider"|"provider list"|"provider test"|"provider models"|"queue"|"queue list"|"queue retry"|"queue purge"|"security"|"security audit"|"security review"|"send"|"service"|"service install"|"service uninstall"|"service start"|"service stop"|"service status"|"service logs"|"session"|"session list"|"session show"|"session clear"|"session export"|"skill"|"skill list"|"skill show"|"skill install"|"skill audit"|"skill test"|"skill accept"|"skill remove"|"status"|"tap"|"template"|"template list"|"template show"|"template edit"|"template rm"|"template save"|"tool"|"tool list"|"tool run"|"version"|"why")  ;;
        *) return 1 ;;
    esac
}
_claw_option() {
    case "$1" in
        "cron add|--session"|"cron update|--session") action="words own main isolated" ;;
        "memory index|--name") action="value document" ;;
        "memory model|--from") action="file" ;;
        *"|--file"|*"|--passphrase-file"|*"|--schema"|*"|--schema-multi"|*"|--set-file"|*"|-f") action="file" ;;
        *"|--config-dir"|*"|--folder"|*"|--readable"|*"|--workspace"|*"|-w") action="folder" ;;
        *"|--allow-commands"|*"|--as-of"|*"|--at"|*"|--calls"|*"|--command"|*"|--daily-limit"|*"|--dead-man"|*"|--env"|*"|--every"|*"|--for"|*"|--header"|*"|--import-from"|*"|--in"|*"|--jobs"|*"|--keep"|*"|--keep-days"|*"|--kills"|*"|--limit"|*"|--lines"|*"|--max-actions"|*"|--max-cost"|*"|--max-tokens"|*"|--min-score"|*"|--monthly-limit"|*"|--name"|*"|--offset"|*"|--older-than"|*"|--only"|*"|--option"|*"|--pair"|*"|--pause"|*"|--precheck"|*"|--prompt"|*"|--purge"|*"|--reason"|*"|--rows"|*"|--seed"|*"|--sees"|*"|--sender"|*"|--set"|*"|--since"|*"|--source"|*"|--stdin-limit"|*"|--system"|*"|--temperature"|*"|--thread"|*"|--timeout"|*"|--tries"|*"|--until"|*"|--url"|*"|--who"|*"|-j"|*"|-n"|*"|-o"|*"|-s"|*"|-t") action="text" ;;
        *"|--category") action="value category" ;;
        *"|--channel") action="value channel" ;;
        *"|--docs"|*"|--remove") action="value document" ;;
        *"|--cid") action="value entry" ;;
        *"|--forget") action="value job" ;;
        *"|--model"|*"|-m") action="value model" ;;
        *"|--parameter"|*"|-P") action="value parameter" ;;
        *"|--provider"|*"|-p") action="value provider" ;;
        *"|--job") action="value scheduled" ;;
        *"|--session") action="value session" ;;
        *"|--to") action="value target" ;;
        *"|--save"|*"|--template"|*"|-T") action="value template" ;;
        *"|--exclude-tools"|*"|--tools") action="value tools" ;;
        *"|--tz") action="value zone" ;;
        *"|--from") action="words auto ndjson zeroclaw openclaw" ;;
        *"|--by") action="words day origin model" ;;
        *"|--level") action="words readonly supervised" ;;
        *"|--missed") action="words skip once all" ;;
        *"|--autonomy") action="words supervised readonly full" ;;
        *"|--log-format") action="words text json" ;;
        *"|--memory") action="words words local" ;;
        *) return 1 ;;
    esac
}
_claw_argument() {
    case "$1" in
        "|0") action="names" ;;
        "backup|0") action="names" ;;
        "channel|0") action="names" ;;
        "config|0") action="names" ;;
        "cron|0") action="names" ;;
        "gateway|0") action="names" ;;
        "hook|0") action="names" ;;
        "log|0") action="names" ;;
        "mcp|0") action="names" ;;
        "memory|0") action="names" ;;
        "model|0") action="names" ;;
        "permission|0") action="names" ;;
        "provider|0") action="names" ;;
        "queue|0") action="names" ;;
        "security|0") action="names" ;;
        "service|0") action="names" ;;
        "session|0") action="names" ;;
        "skill|0") action="names" ;;
        "template|0") action="names" ;;
        "tool|0") action="names" ;;
        "backup create|0") action="file" ;;
        "backup verify|0") action="file" ;;
        "backup restore|0") action="file" ;;
        "channel doctor|"*) action="value channel" ;;
        "channel setup|0") action="value channel" ;;
        "completion|0") action="words bash zsh fish" ;;
        "config show|0") action="value config-key" ;;
        "config get|0") action="value config-key" ;;
        "config set|0") action="value config-key" ;;
        "config set|1") action="value config-value" ;;
        "config unset|0") action="value config-key" ;;
        "config path|0") action="words home workspace file" ;;
        "config apply|0") action="file" ;;
        "cron show|0") action="value scheduled" ;;
        "cron update|0") action="value scheduled" ;;
        "cron remove|"*) action="value scheduled" ;;
        "cron pause|"*) action="value scheduled" ;;
        "cron resume|"*) action="value scheduled" ;;
        "cron next|0") action="value scheduled" ;;
        "cron run|0") action="value scheduled" ;;
        "cron runs|0") action="value scheduled" ;;
        "gateway token|0") action="words add list rotate revoke" ;;
        "log show|0") action="value entry" ;;
        "log export|"*) action="value entry" ;;
        "log rm|"*) action="value entry" ;;
        "map|"*) action="file" ;;
        "mcp test|0") action="value mcp-server" ;;
        "mcp accept|0") action="value mcp-server" ;;
        "memory store|0") action="value memory-key" ;;
        "memory get|0") action="value memory-key" ;;
        "memory forget|"*) action="value memory-key" ;;
        "memory snapshot|0") action="file" ;;
        "memory hydrate|0") action="file" ;;
        "memory export|0") action="file" ;;
        "memory import|"*) action="file" ;;
        "memory history|0") action="value memory-key" ;;
        "memory undo|"*) action="value memory-key" ;;
        "memory index|0") action="folder" ;;
        "memory pin|"*) action="value memory-key" ;;
        "memory model|0") action="words install status" ;;
        "migrate|0") action="words zeroclaw openclaw nanobot hermes" ;;
        "migrate|1") action="file" ;;
        "model alias|0") action="value alias" ;;
        "model alias|1") action="value model" ;;
        "provider test|"*) action="value provider" ;;
        "provider models|0") action="value provider" ;;
        "send|0") action="value target" ;;
        "session show|0") action="value session" ;;
        "session clear|"*) action="value session" ;;
        "session export|0") action="value session" ;;
        "skill show|0") action="value skill" ;;
        "skill install|0") action="file" ;;
        "skill audit|"*) action="value skill" ;;
        "skill test|0") action="value skill" ;;
        "skill accept|0") action="value skill" ;;
        "skill remove|0") action="value skill" ;;
        "tap|0") action="value channel" ;;
        "template show|0") action="value template" ;;
        "template edit|0") action="value template" ;;
        "template save|0") action="value template" ;;
        "template save|1") action="file" ;;
        "tool run|0") action="value tool" ;;
    esac
}
_claw_words() {
    case "$1|$2" in
        "|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -V --version -h --help" ;;
        "|names") echo "acp agent ask backup channel completion config cost cron do doctor estop gateway help hook listen log map mcp memory migrate model onboard permission prove provider queue security send service session skill status tap template tool version why" ;;
        "acp|options") echo "-p --provider -m --model --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "agent|options") echo "-m --model -p --provider -t --temperature -s --system --session --tools --yes --no-memory --resume --no-log --raw --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "ask|options") echo "-m --model -p --provider -t --temperature -s --system -f --file --docs -c --continue --cid --session --tools --yes --no-memory --schema --schema-multi -x --extract --max-tokens --max-cost --timeout --no-log --dry-run --stdin-limit -T --template -P --parameter -o --option --save --force --raw --no-stream -u --usage --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "backup|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "backup|names") echo "create verify restore" ;;
        "backup create|options") echo "--encrypt --passphrase-file --keep --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "backup verify|options") echo "--passphrase-file --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "backup restore|options") echo "--passphrase-file --yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "channel|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "channel|names") echo "list doctor setup" ;;
        "channel list|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "channel doctor|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "channel setup|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "completion|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config|names") echo "show get set unset check path edit apply history undo schema" ;;
        "config show|options") echo "--origin --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config get|options") echo "--reveal --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config set|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config unset|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config check|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config path|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config edit|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config apply|options") echo "--dry-run --no-probe --deep --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config history|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config undo|options") echo "--dry-run --no-probe --force --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "config schema|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cost|options") echo "--by --since --until --today --calls --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron|names") echo "list add show update remove pause resume next run runs" ;;
        "cron list|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron add|options") echo "--every --at --in --tz --missed --disabled --prompt --command --session --precheck -m --model --tools --to --must-deliver --best-effort --dead-man --name --keep --no-keep --level --exclude-tools --allow-commands --max-actions --max-cost --monthly-limit --timeout --yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron show|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron update|options") echo "--every --at --in --tz --missed --prompt --command --session --precheck -m --model --tools --to --must-deliver --best-effort --dead-man --name --keep --no-keep --level --exclude-tools --allow-commands --max-actions --max-cost --monthly-limit --timeout --yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron remove|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron pause|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron resume|options") echo "--yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron next|options") echo "--tz -n --limit --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron run|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "cron runs|options") echo "-n --limit --output --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "do|options") echo "-m --model -p --provider --timeout --no-log --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "doctor|options") echo "--fix --dry-run --deep --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "estop|options") echo "--reason --lift --status --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "gateway|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "gateway|names") echo "serve token pair link" ;;
        "gateway serve|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "gateway token|options") echo "--sees --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "gateway pair|options") echo "--sees --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "gateway link|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "help|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "hook|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "hook|names") echo "list test" ;;
        "hook list|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "hook test|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "listen|options") echo "--channel --check -p --provider -m --model --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "log|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "log|names") echo "list search show export rm" ;;
        "log list|options") echo "-n --limit --offset --since --until --session -m --model --refused --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "log search|options") echo "-n --limit --since --until --session -m --model --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "log show|options") echo "-l --last -r --answer --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "log export|options") echo "--since --until --session -m --model --markdown --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "log rm|options") echo "--session --older-than --all --yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "map|options") echo "-T --template -P --parameter -m --model -p --provider -t --temperature -s --system -j --jobs --max-cost --max-tokens --timeout --schema -o --option -0 --null --files --fresh --no-log --dry-run --stdin-limit --list --forget --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "mcp|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "mcp|names") echo "list add test accept serve" ;;
        "mcp list|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "mcp add|options") echo "--url --network --folder --readable --env --header --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "mcp test|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "mcp accept|options") echo "--yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "mcp serve|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory|names") echo "store recall get list forget count stats exam conflicts snapshot hydrate export import history undo index pin reindex check hygiene model" ;;
        "memory store|options") echo "--category --session --sender --source --stdin-limit --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory recall|options") echo "-n --limit --category --session --since --until --as-of --min-score --explain --docs --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory get|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory list|options") echo "--category --session --since --until -n --limit --offset --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory forget|options") echo "--category --older-than --who --yes --for-good --prove --everywhere --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory count|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory stats|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory exam|options") echo "--rows --seed --category --session --timeout --vectors -m --model -p --provider --max-cost --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory conflicts|options") echo "--rows --category --session -m --model -p --provider --max-cost --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory snapshot|options") echo "--check --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory hydrate|options") echo "--replace --merge --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory export|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory import|options") echo "--from --dry-run --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory history|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory undo|options") echo "--purge --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory index|options") echo "--name --list --remove --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory pin|options") echo "--category --off --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory reindex|options") echo "--words --vectors --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory check|options") echo "--repair --redact --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory hygiene|options") echo "--dry-run --force --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "memory model|options") echo "--force --from --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "migrate|options") echo "--dry-run --only --loosen --yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "model|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "model|names") echo "list alias" ;;
        "model list|options") echo "-p --provider --all --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "model alias|options") echo "-p --provider --remove --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "onboard|options") echo "-p --provider -m --model --api-key-stdin --keep-key --no-keep-key --daily-limit --memory --keep-days --channel --set --set-file --pair --autonomy --completion --no-completion --service --no-service --import-from --no-test --yes --restart --dry-run --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "permission|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "permission|names") echo "allow list revoke show" ;;
        "permission allow|options") echo "--for --channel --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "permission list|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "permission revoke|options") echo "--all --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "permission show|options") echo "--channel --job --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "prove|options") echo "--only --channel --all --kills --seed --pause --keep --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "provider|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "provider|names") echo "list test models" ;;
        "provider list|options") echo "--all --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "provider test|options") echo "-m --model --timeout --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "provider models|options") echo "--refresh --timeout --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "queue|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "queue|names") echo "list retry purge" ;;
        "queue list|options") echo "--failed --all -n --limit --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "queue retry|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "queue purge|options") echo "--older-than --failed --channel --yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "security|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "security|names") echo "audit review" ;;
        "security audit|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "security review|options") echo "--yes --no --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "send|options") echo "-f --file --thread --timeout --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "service|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "service|names") echo "install uninstall start stop status logs" ;;
        "service install|options") echo "--print --no-start --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "service uninstall|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "service start|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "service stop|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "service status|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "service logs|options") echo "-n --lines -f --follow --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "session|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "session|names") echo "list show clear export" ;;
        "session list|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "session show|options") echo "-n --limit --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "session clear|options") echo "--all --yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "session export|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "skill|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "skill|names") echo "list show install audit test accept remove" ;;
        "skill list|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "skill show|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "skill install|options") echo "--name --replace --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "skill audit|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "skill test|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "skill accept|options") echo "--yes --no-grants --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "skill remove|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "status|options") echo "--watch --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "tap|options") echo "--auto -j --jobs --tries --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "template|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "template|names") echo "list show edit rm save" ;;
        "template list|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "template show|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "template edit|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "template rm|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "template save|options") echo "--force --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "tool|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "tool|names") echo "list run" ;;
        "tool list|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "tool run|options") echo "--yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "version|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
        "why|options") echo "--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -h --help" ;;
    esac
}
# The values of a kind, quoted by claw for where they go. Where bash only
# lists them (COMP_TYPE ?, !, @), ids come with what they stand for.
_claw_values() {
    local row how=bash program="${COMP_WORDS[0]}"
    case "$COMP_TYPE" in 63|33|64) how=bash-list ;; esac
    case "$program" in "~/"*) program="$HOME/${program#"~/"}" ;; esac
    while IFS= read -r row; do
        [[ -n "$row" ]] && COMPREPLY+=("$row")
    done <<< "$("$program" __complete $how "$1" "$current" \
        "$COMP_WORDBREAKS" -- "${typed[@]}" 2>/dev/null </dev/null)"
    compopt -o nosort 2>/dev/null
    [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[.:=] ]] &&
        compopt -o nospace 2>/dev/null
}

# Files are Readline's own matter; an old bash has no compopt.
_claw_files() {
    compopt -o "$1" 2>/dev/null && return
    local row
    while IFS= read -r row; do
        [[ -n "$row" ]] && COMPREPLY+=("$row")
    done <<< "$(compgen -f -- "$current")"
}

# Words as they stand on the line: bash cuts them at = and : too.
_claw_read_line() {
    local i word line="${COMP_LINE:0:COMP_POINT}"
    typed=()
    for (( i = 0; i < COMP_CWORD; i++ )); do
        word="${COMP_WORDS[i]}"
        if [[ "$i" -eq 0 || "$line" == [[:space:]]* ]]; then
            typed+=("$word")
        else
            typed[${#typed[@]}-1]+="$word"
        fi
        line="${line#"${line%%[![:space:]]*}"}"
        line="${line#"$word"}"
    done
    if [[ "$line" == [[:space:]]* ]]; then
        current="${line#"${line%%[![:space:]]*}"}"
    else
        i=$(( ${#typed[@]} - 1 ))
        current="${typed[i]}$line"
        unset "typed[i]"
    fi
    typed=("${typed[@]:1}")
}

_claw() {
    local current word action="" path="" pending="" only="" count=0
    local -a typed
    COMPREPLY=()
    _claw_read_line
    for word in "${typed[@]}"; do
        if [[ -n "$pending" ]]; then
            pending=""
        elif [[ -n "$only" ]]; then
            count=$(( count + 1 ))
        elif [[ "$word" == -- ]]; then
            only=1
        elif [[ "$word" == -?* ]]; then
            [[ "$word" != --*=* ]] && _claw_option "$path|$word" && pending=1
        elif [[ "$word" == help && -z "$path" ]]; then
            continue
        elif [[ "$count" -eq 0 ]] && _claw_command "${path:+$path }$word"; then
            path="${path:+$path }$word"
        else
            count=$(( count + 1 ))
        fi
    done
    if [[ -z "$pending" ]]; then
        action=""
        if [[ -z "$only" && "$current" == --*=* ]]; then
            _claw_option "$path|${current%%=*}" || return
        elif [[ -z "$only" && "$current" == -* ]]; then
            action="options"
        else
            _claw_argument "$path|$count"
        fi
    fi
    word="${current#--*=}"
    [[ "$current" == --*=* ]] || word="$current"
    case "$action" in
        file) _claw_files default ;;
        folder) _claw_files dirnames ;;
        value*) _claw_values "${action#value }" ;;
        options|names)
            COMPREPLY=( $(compgen -W "$(_claw_words "$path" "$action")" \
                -- "$current") ) ;;
        words*) COMPREPLY=( $(compgen -W "${action#words }" -- "$word") ) ;;
    esac
}
complete -F _claw claw
