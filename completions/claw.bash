# bash completion of claw; generated, do not edit
_claw() {
    local cur prev words path word i
    COMPREPLY=()
    cur="${COMP_WORDS[COMP_CWORD]}"
    prev="${COMP_WORDS[COMP_CWORD-1]}"
    case "$prev" in
        --config-dir|--file|--from|--schema|--workspace|-f|-w) COMPREPLY=( $(compgen -f -- "$cur") ); return ;;
        --as-of|--by|--calls|--category|--channel|--docs|--from|--kills|--limit|--log-format|--max-cost|--max-tokens|--min-score|--model|--name|--offset|--older-than|--only|--pause|--provider|--purge|--remove|--rows|--seed|--sender|--session|--since|--source|--stdin-limit|--system|--temperature|--thread|--timeout|--tools|--until|--who|-m|-n|-p|-s|-t) return ;;
    esac
    path=""
    for (( i = 1; i < COMP_CWORD; i++ )); do
        word="${COMP_WORDS[i]}"
        case "${path:+$path }$word" in
            "agent"|"ask"|"channel"|"channel list"|"channel doctor"|"completion"|"config"|"config show"|"config get"|"config set"|"config unset"|"config check"|"config path"|"config edit"|"config schema"|"cost"|"doctor"|"listen"|"memory"|"memory store"|"memory recall"|"memory get"|"memory list"|"memory forget"|"memory count"|"memory stats"|"memory exam"|"memory conflicts"|"memory snapshot"|"memory hydrate"|"memory export"|"memory import"|"memory history"|"memory undo"|"memory index"|"memory pin"|"memory reindex"|"memory check"|"memory hygiene"|"memory model"|"prove"|"provider"|"provider list"|"provider test"|"provider models"|"queue"|"queue list"|"queue retry"|"queue purge"|"security"|"security audit"|"security review"|"send"|"session"|"session list"|"session show"|"session clear"|"session export"|"tool"|"tool list"|"tool run"|"why") path="${path:+$path }$word" ;;
        esac
    done
    case "$path" in
        "") words="agent ask channel completion config cost doctor listen memory prove provider queue security send session tool why --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets -V --version --help" ;;
        "agent") words="-m --model -p --provider -t --temperature -s --system --session --tools --yes --no-memory --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "ask") words="-m --model -p --provider -t --temperature -s --system -f --file --docs -c --continue --session --tools --yes --no-memory --schema -x --extract --max-tokens --max-cost --timeout --no-log --dry-run --stdin-limit --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "channel") words="list doctor --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "channel list") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "channel doctor") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "completion") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "config") words="show get set unset check path edit schema --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "config show") words="--origin --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "config get") words="--reveal --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "config set") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "config unset") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "config check") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "config path") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "config edit") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "config schema") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "cost") words="--by --since --until --today --calls --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "doctor") words="--fix --ask --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "listen") words="--channel --check -p --provider -m --model --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory") words="store recall get list forget count stats exam conflicts snapshot hydrate export import history undo index pin reindex check hygiene model --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory store") words="--category --session --sender --source --stdin-limit --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory recall") words="-n --limit --category --session --since --until --as-of --min-score --explain --docs --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory get") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory list") words="--category --session --since --until -n --limit --offset --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory forget") words="--category --older-than --who --yes --for-good --prove --everywhere --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory count") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory stats") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory exam") words="--rows --seed --category --session --timeout --vectors -m --model -p --provider --max-cost --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory conflicts") words="--rows --category --session -m --model -p --provider --max-cost --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory snapshot") words="--check --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory hydrate") words="--replace --merge --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory export") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory import") words="--from --dry-run --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory history") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory undo") words="--purge --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory index") words="--name --list --remove --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory pin") words="--category --off --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory reindex") words="--words --vectors --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory check") words="--repair --redact --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory hygiene") words="--dry-run --force --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "memory model") words="--force --from --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "prove") words="--only --channel --all --kills --seed --pause --keep --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "provider") words="list test models --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "provider list") words="--all --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "provider test") words="-m --model --timeout --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "provider models") words="--refresh --timeout --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "queue") words="list retry purge --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "queue list") words="--failed --all -n --limit --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "queue retry") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "queue purge") words="--older-than --failed --channel --yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "security") words="audit review --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "security audit") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "security review") words="--yes --no --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "send") words="-f --file --thread --timeout --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "session") words="list show clear export --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "session list") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "session show") words="-n --limit --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "session clear") words="--all --yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "session export") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "tool") words="list run --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "tool list") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "tool run") words="--yes --config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
        "why") words="--config-dir -w --workspace --trust-workspace --json --jsonl -q --quiet -v --verbose --log-format --show-secrets --help" ;;
    esac
    COMPREPLY=( $(compgen -W "$words" -- "$cur") )
    [[ ${#COMPREPLY[@]} -eq 0 && "$cur" != -* ]] &&
        COMPREPLY=( $(compgen -f -- "$cur") )
}
complete -o filenames -F _claw claw
