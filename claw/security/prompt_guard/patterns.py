"""What texts say that speak to a model, by category. Pure.

A row is a category, words of which one must stand in a text before its
expression is tried at all, and the expression. A text without such words
costs a few searches, and no expression is compiled. Texts come normalised:
lower case, single blanks.

Scores are those of the reference.
"""

import re
from collections.abc import Iterable
from functools import cache

SCORES = {"system_override": 1.0, "role_confusion": 0.9,
          "tool_call_injection": 0.8, "json_escape": 0.7,
          "secret_extraction": 0.95, "command_injection": 0.6,
          "jailbreak": 0.85}

_GAP = r"\W+(?:[\w'’-]+\W+){0,4}?"  # up to four words between
_RULES = (r"(?:instructions?|prompts?|rules|directives?|guidelines|orders|"
          r"commands|context|programming|constraints|training|system message)")
_EARLIER = (r"(?:previous|prior|earlier|above|preceding|foregoing|former|"
            r"original|initial|existing|past|your|system|developer)")
_SECRET = (r"(?:api[ _-]?keys?|passwords?|passphrases?|credentials?|secrets?|"
           r"access tokens?|auth tokens?|private keys?|ssh keys?|id_rsa|"
           r"\.env\b|environment variables|seed phrases?|session cookies?)")
_SEND = (r"(?:send|e-?mail|post|upload|forward|transmit|exfiltrate|leak|"
         r"submit|deliver|copy)")
_READER = (r"(?:ai|a\.i\.|assistants?|language models?|llms?|chat ?bots?|"
           r"agents?|model|gpt|claude|gemini|copilot)")

_ROWS: tuple[tuple[str, str, str], ...] = (
    # English
    ("system_override", "ignore, disregard, forget, override, discard, "
     "neglect, overlook",
     rf"\b(?:ignore|disregard|forget|override|discard|neglect|overlook)"
     rf"{_GAP}{_EARLIER}{_GAP}{_RULES}\b"),
    ("system_override", "ignore, disregard, forget, override, discard",
     rf"\b(?:ignore|disregard|forget|override|discard)\W+(?:all|everything|"
     rf"anything|whatever|what)\b(?:\W+[\w'’-]+){{0,5}}?\W+"
     rf"(?:above|before this|before now|you were told|you have been told|"
     rf"you know|so far|i said|they told you|{_RULES})\b"),
    ("system_override", "follow, obey, attention, listen to",
     rf"\b(?:do not|don['’]?t|no longer|stop|never|cease)\W+(?:follow|obey|"
     rf"following|obeying|pay attention to|listen to){_GAP}{_EARLIER}{_GAP}"
     rf"{_RULES}\b"),
    ("system_override", "instruction, directive, orders, task",
     r"(?:^|[.!:\n*#>-] *)(?:your |the |important |urgent )?(?:new|updated|"
     r"revised|real|actual|true) (?:system )?(?:instructions?|directives?|"
     r"orders|task)(?: for (?:the )?" + _READER + r")?(?: (?:is|are|follow)"
     r"[ :]|: )"),
    ("system_override", "user, owner, human",
     r"\b(?:do not|don['’]?t|never|without|avoid|must not)\W+(?:\w+\W+)?"
     r"(?:tell|telling|inform|informing|notify|notifying|alert|alerting|"
     r"mention\w*|reveal\w*|ask|asking|warn|warning)\b[^.\n]{0,40}?\b"
     r"(?:the|this|your) (?:user|owner|human)\b"),
    ("system_override", "attention, note, important, message, notice, "
     "instruction, reminder, memo",
     rf"\b(?:(?:attention|note|notice)\b,? ?(?:to |for )?|(?:important|"
     rf"message|instructions?|reminder|memo) (?:to|for) )(?:all |any |the |"
     rf"every )?(?:\w+ )?{_READER}s?\b ?(?:[:!,—–-]|reading|processing|"
     rf"that)"),
    ("system_override", "if you are, if you're, if you’re",
     rf"\bif you(?: are|['’]re) (?:an? |the )?(?:\w+ )?{_READER}\b[^.\n]"
     r"{0,60}?[,:] ?(?:please |then |you must |immediately )?(?:\w+)"),
    ("role_confusion", "you are, you're, you’re",
     r"\byou(?: are|['’]re) (?:now|no longer) (?:an? |the |in |my |bound |"
     r"called |acting )?(?:\w+ )?(?:unrestricted|unfiltered|uncensored|evil|"
     r"free|dan|root|admin\w*|jailbroken|developer|assistant|ai|model|bot|"
     r"system|agent|hacker|terminal|shell|by|mode|pirate|oracle)\b"),
    ("role_confusion", "from now, from here, from this, henceforth",
     r"\b(?:from (?:now|here|this point) on(?:ward)?s?|henceforth),? "
     r"(?:you(?: are| will| must| shall|['’]ll|['’]re)|act|answer|respond|"
     r"obey|do whatever)\b"),
    ("role_confusion", "pretend, act as if, imagine, role-play, roleplay, "
     "simulate",
     r"\b(?:pretend|(?:act|role-?play) as if|imagine|role-?play as|"
     r"simulate)\W+(?:that\W+)?"
     r"(?:to be|you(?: are|['’]re| have| were))\W+(?:an? |the |no |not )?"
     r"(?:\w+ )?(?:ai|assistant|model|bot|system|admin\w*|root|developer|"
     r"restrictions?|rules|limits|hacker|human|bound|unrestricted|evil)\b"),
    ("role_confusion", "<|, inst], <<sys>>, system, developer",
     r"<\|(?:im_start|system|assistant|start_header_id|end)\|>|\[/?inst\]|"
     r"<<sys>>|^(?:[#>* ]*)\[?<?/?(?:system|developer)(?: (?:prompt|message|"
     r"note|override))?[>\]:]+\W*(?:you|ignore|new|the (?:user|assistant)|"
     r"from now|disregard|always|never|override|forget)\b|</user> ?<system>"),
    ("tool_call_injection", "tool_call, toolcall, function_call, "
     "functioncall, invoke, use_tool, <|tool",
     r"<(?:\w+:)?(?:tool_?call|function_?calls?|invoke|use_tool)\b[^>\n]"
     r"{0,80}>\s*(?:\{|<|\w)|\[tool_calls\]|<\|tool|\"tool_calls\" ?: ?\[ ?"
     r"\{"),
    ("tool_call_injection", " tool, function",
     r"\b(?:call|use|invoke|execute|run|trigger)\W+(?:the|your)\W+[\w`\"'-]+"
     r"\W+(?:tool|function)\b[^.\n]{0,60}?\b(?:to (?:send|delete|read|write|"
     r"fetch|post|run|execute|forward|upload|transfer|remove|open|email)|"
     r"with (?:the )?(?:argument|parameter|command|following))"),
    ("secret_extraction", "prompt, instructions, message, rules",
     r"\b(?:reveal|show|print|output|repeat|display|tell|give|write out|"
     r"disclose|dump|recite|leak|quote|summari[sz]e)\b[^.\n]{0,30}?\b(?:your|"
     r"the) (?:\w+ )?(?:system|initial|hidden|original|secret|developer|"
     r"internal) (?:prompt|instructions|message|rules)\b"),
    ("secret_extraction", "key, password, passphrase, credential, secret, "
     "token, id_rsa, .env, environment, seed, cookie",
     rf"\b{_SEND}\b[^.\n]{{0,30}}?\b(?:all|any|every|contents? of|user['’]?s|"
     rf"owner['’]?s|their|his|her|stored|saved|found)\b[^\n]{{0,30}}?"
     rf"{_SECRET}[^\n]{{0,40}}?\b(?:to|at|via|into)\b"),
    ("secret_extraction", "key, password, passphrase, credential, secret, "
     "token, id_rsa, .env, environment, seed, cookie",
     rf"\b(?:read|open|find|collect|search for|look for|gather|get|locate|"
     rf"cat)\b[^.\n]{{0,50}}?{_SECRET}[^\n]{{0,40}}?\b(?:and|then)\b[^.\n]"
     rf"{{0,20}}?\b(?:{_SEND}|include|append|put|encode|attach|paste)\b"),
    ("secret_extraction", "memor, conversation, chat, messages, contacts, "
     "address book, inbox",
     rf"\b{_SEND}\b[^.\n]{{0,30}}?\b(?:your|the (?:user|owner)['’]?s|all|"
     r"entire|whole|full)\b[^.\n]{0,20}?\b(?:memor(?:y|ies)|conversations?|"
     r"chat (?:history|logs?)|private messages|contacts|address book|inbox)"
     r"\b[^.\n]{0,30}?\bto\b"),
    ("command_injection", "rm -, base64, /dev/tcp, nc -, mkfs, curl, wget",
     r"\brm -(?:rf|fr) (?:--no-preserve-root )?[/~](?:\s|\*|$)|base64 "
     r"(?:-d|--decode)[^|\n]{0,40}\| ?(?:ba)?sh\b|/dev/tcp/\d|\bnc (?:-\w+ )*"
     r"-e |\bmkfs\.\w+ /dev|\$\((?:curl|wget)|\b(?:curl|wget)\b[^\n]{0,80}"
     r"(?:-d|--data|--post-file)[ =]?[\"'@]*[$@~/][^\n]{0,20}(?:\.ssh|\.env|"
     r"passwd|id_rsa|\.aws|\()"),
    ("command_injection", "silently, quietly, without",
     r"\b(?:run|execute|delete|install|transfer|send|forward|download)\b"
     r"[^.\n]{0,60}?\b(?:silently|quietly|without (?:asking|confirmation|"
     r"telling|permission|approval|any confirmation))\b"),
    ("jailbreak", "anything now, mode",
     r"\bdo anything now\b|\b(?:dan|god|sudo|jailbr[eo]a?ke?n?|developer|"
     r"unrestricted|debug) mode(?: is)?(?: now)? (?:(?:enabled|activated|"
     r"engaged)\b|on(?=[.!;,:]|$))|\b(?:enter|enable|activate|"
     r"switch (?:in)?to)\W+(?:dan|god|"
     r"jailbreak|developer|unrestricted|debug|maintenance) mode\b[^.\n]{0,30}"
     r"?(?:\band\b|,|\bno\b|\bwhere\b)[^.\n]{0,30}\b(?:answer|obey|reply|"
     r"filter|restrict|rules?|limits?|policy|ignore)"),
    ("jailbreak", "restriction, limit, filter, censor, guardrail, safeguard, "
     "safety, security, content, ethic, moral, polic, guidelines",
     r"\b(?:bypass|disable|turn off|circumvent|switch off|evade|get around|"
     r"remove|drop)\W+(?:all |any |of )*(?:your|its own|the model['’]s)\W+"
     r"(?:\w+\W+)?(?:safety|security|content|ethic\w*|guardrails?|filters?|"
     r"restrictions?|limitations?|safeguards?|censorship|policies)\b|"
     r"\b(?:answer|respond|reply|act|operate|speak|comply)\b[^.\n]{0,30}?\b"
     r"(?:without|free of|free from|regardless of)\W+(?:any |all |your |the )*"
     r"(?:restrictions?|limitations?|filters?|censorship|safeguards?|"
     r"guidelines|policies|ethic\w*|moral\w*|safety)\b|\b(?:your|all) "
     r"(?:safety |content |ethical )?(?:restrictions|guidelines|filters|"
     r"guardrails|policies|limits)\W+(?:are|have been|were)\W+(?:now )?"
     r"(?:lifted|disabled|removed|suspended|off|void|turned off)\b"),
    ("json_escape", "role, tool_calls, function_call, \\n\\n",
     r"[\"'] ?\} ?\]? ?, ?\{? ?\\?[\"'](?:role|tool_calls|function_call)\\?"
     r"[\"'] ?: ?(?:\\?[\"'](?:system|developer|assistant|tool)|\[)|\\n\\n"
     r"(?:system|human|assistant): "),
    # German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian,
    # Chinese, Japanese: overriding, and asking for the prompt
    ("system_override", "ignorier, vergiss, vergessen sie, missachte, "
     "beachte, befolge",
     r"\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*|(?:beachte|befolge)"
     r"\w*(?: \w+){0,4}? (?:nicht|keine))\b(?=[^.\n]{0,60}\b(?:anweisung|"
     r"instruktion|vorgabe|regel|befehl|anordnung|prompt|systemprompt))"
     r"[^.\n]{0,40}?\b(?:bisherig|vorherig|vorig|vorangegangen|obig|alle|"
     r"deine|ihre|früher|ursprünglich)\w*"),
    ("secret_extraction", "prompt, anweisung, systemnachricht, passwörter, "
     "zugangsdaten, schlüssel, tokens",
     r"\b(?:zeige?|verrate|nenne|gib|wiederhole|drucke)\b[^.\n]{0,30}?\b"
     r"(?:deine?n?|ihre?n?|den|die) (?:\w+ )?(?:system-?prompt|"
     r"system(?:anweisung\w*|nachricht)|(?:geheimen|internen) anweisungen)|"
     r"\b(?:sende|schicke|übermittle|maile)\b[^.\n]{0,30}?\b(?:alle|"
     r"sämtliche|die gespeicherten)\b[^.\n]{0,30}?(?:passwörter|zugangsdaten|"
     r"schlüssel|tokens)[^.\n]{0,30}?\b(?:an|nach|zu)\b"),
    ("role_confusion", "du bist, ab jetzt, ab sofort",
     r"\b(?:du bist (?:jetzt|nun|ab sofort|ab jetzt)|ab (?:jetzt|sofort) "
     r"(?:bist|wirst|antwortest|befolgst|gehorchst) du)\W+(?:\w+\W+){0,3}?"
     r"(?:ki|assistent|modell|bot|uneingeschränkt\w*|administrator|"
     r"entwicklermodus|system|nur|jede[mn]?|ohne)\b"),
    ("system_override", "ignore, oublie, tenez, tiens, négligez",
     r"\b(?:ignore[zr]?|oublie[zr]?|ne (?:tenez|tiens) (?:pas|aucun) compte|"
     r"négligez)\b[^.\n]{0,30}?\b(?:instructions?|consignes?|directives?|"
     r"règles|ordres)\b[^.\n]{0,20}?\b(?:précédent\w*|antérieur\w*|"
     r"ci-dessus|initiales?|reçues|système)"),
    ("secret_extraction", "invite, prompt, instructions",
     r"\b(?:révèle[zr]?|affiche[zr]?|montre[zr]?|donne[zr]?|répète[zr]?)\b"
     r"[^.\n]{0,20}?\b(?:ton|votre|tes|vos|le|les)\b[^.\n]{0,20}?\b(?:prompt "
     r"système|invite système|instructions (?:système|cachées|internes))"),
    ("system_override", "ignora, ignore, olvid, caso omiso, desobedece, "
     "dimentica, esque, desconsidere",
     r"\b(?:ignor[ae]d?|ignore[mn]?|olvid[ae]|haz caso omiso de|desobedece|"
     r"dimentica(?:te)?|ignorate|esque[çc][ae]|desconsidere)\b[^.\n]{0,30}?\b"
     r"(?:instrucciones|órdenes|reglas|indicaciones|istruzioni|regole|"
     r"direttive|instruções|regras|ordens|diretrizes)\b[^.\n]{0,20}?\b"
     r"(?:anteriores|previas|anterior|precedenti|prévias|acima|recibidas|"
     r"ricevute|recebidas|iniciales|iniciais|del sistema|do sistema|"
     r"di sistema)"),
    ("secret_extraction", "sistema, ocult, nascost, contraseñas, senhas, "
     "password, credenc, credenz",
     r"\b(?:revela|muestra|imprime|repite|mostra|rivela|stampa|ripeti|revele|"
     r"mostre|repita)\w*\b[^.\n]{0,20}?\b(?:tu|tus|il|tuo|le|tue|seu|o|el)\b"
     r"[^.\n]{0,20}?\b(?:prompt (?:del|di|do|de) sistema|instrucciones "
     r"(?:ocultas|del sistema)|istruzioni (?:nascoste|di sistema)|instruções "
     r"(?:ocultas|do sistema))|\b(?:envía|manda|invia|envie)\w*\b[^.\n]"
     r"{0,20}?\b(?:todas|tutte|todos)\b[^.\n]{0,20}?(?:contraseñas|password|"
     r"senhas|credenciales|credenziali|credenciais)\b[^.\n]{0,20}? (?:a|para)"
     r"\b"),
    ("system_override", "negeer, vergeet, zignoruj, pomiń, zapomnij",
     r"\b(?:negeer|vergeet)\b[^.\n]{0,30}?\b(?:vorige|eerdere|voorgaande|"
     r"bovenstaande|alle)\b[^.\n]{0,20}?\b(?:instructies|opdrachten|regels|"
     r"aanwijzingen)|\b(?:zignoruj|pomiń|zapomnij)\b[^.\n]{0,30}?\b"
     r"(?:poprzedni\w*|wcześniejsz\w*|powyższ\w*|wszystki\w*)\b[^.\n]{0,20}?"
     r"\b(?:instrukcj\w*|polece\w*|zasad\w*)"),
    ("system_override", "игнорируй, забудь, не следуй",
     r"(?:проигнорируй|игнорируй|забудь|не следуй)(?:те)?\b[^.\n]{0,30}?"
     r"(?:предыдущ|прежн|ранее|выше|все|систем)\w*[^.\n]{0,30}?(?:инструкци|"
     r"указани|правил|команд|приказ)"),
    ("secret_extraction", "системн, парол, ключ, токен",
     r"(?:покажи|раскрой|выведи|повтори|напечатай)(?:те)?\b[^.\n]{0,20}?"
     r"системн\w+ (?:промпт|инструкци|сообщени|подсказк)|(?:отправь|пришли|"
     r"вышли)(?:те)?\b[^.\n]{0,20}?все\w*[^.\n]{0,20}?(?:парол|ключ|токен)"),
    ("system_override", "忽略, 忽視, 忽视, 无视, 無視, 忘记, 忘記, 忘れ, "
     "不要遵, 従わない, 破棄",
     r"(?:忽略|忽視|忽视|无视|無視|忘记|忘記|不要遵守|不要遵循)[^。\n]{0,12}"
     r"(?:之前|以前|以上|上面|上述|先前|前面|所有|原来|系统|系統|你的|您的)"
     r"[^。\n]{0,10}(?:指令|指示|提示|规则|規則|命令|要求|设定)|(?:これまで|"
     r"以前|上記|前|すべて|全て|元|システム)の?[^。\n]{0,12}(?:指示|命令|"
     r"ルール|プロンプト|規則)[^。\n]{0,6}(?:無視|忘れ|従わないで|破棄)"),
    ("secret_extraction", "系统提示, 系統提示, 系统指令, 隐藏指令, 提示词, "
     "システムプロンプト, 密码, 密碼, 密钥, 凭据, パスワード",
     r"(?:显示|顯示|输出|輸出|告诉|告訴|泄露|重复|打印|透露)[^。\n]{0,10}"
     r"(?:系统提示|系統提示|系统指令|隐藏指令|提示词)|システムプロンプト[^。"
     r"\n]{0,6}(?:表示|出力|教え|見せ)|(?:发送|發送|上传|发给)[^。\n]{0,10}"
     r"(?:所有|全部)[^。\n]{0,6}(?:密码|密碼|密钥|凭据)|(?:所有|全部)[^。\n]"
     r"{0,6}(?:密码|密碼|密钥|凭据)[^。\n]{0,10}(?:发送|發送|发给|上传)|"
     r"パスワード[^。\n]{0,12}(?:送って|送信)"),
    ("role_confusion", "从现在, 從現在, 你现在是, 今から",
     r"(?:从现在开始|從現在開始|从现在起)[^。\n]{0,4}你[^。\n]{0,6}(?:是|将|"
     r"必须|扮演)|你现在是[^。\n]{0,8}(?:没有|不受|无限制|管理员|开发者)|"
     r"今からあなたは[^。\n]{0,20}(?:です|として|になり)"),
)


# How far a pattern may reach around its word.
_REACH = 200


def find_categories(text: str) -> tuple[str, ...]:
    """The categories of a normalised text, in the order of SCORES."""
    found: set[str] = set()
    for category, words, pattern in _ROWS:
        if category not in found and _stands(text, words, pattern):
            found.add(category)
    return tuple(name for name in SCORES if name in found)


def _stands(text: str, words: str, pattern: str) -> bool:
    """Whether the pattern is there, near one of its words: most of a text
    is never searched by an expression."""
    end = -_REACH
    for start in sorted(_find_places(text, words.split(", "))):
        if start >= end:
            end = start + _REACH
            if _compile(pattern).search(text, max(0, start - _REACH),
                                        end + _REACH):
                return True
    return False


def _find_places(text: str, words: Iterable[str]) -> set[int]:
    """Where the words are, one place for all that are near each other."""
    places = set()
    for word in words:
        start = text.find(word)
        while start >= 0:
            places.add(start)
            start = text.find(word, start + _REACH)
    return places


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
