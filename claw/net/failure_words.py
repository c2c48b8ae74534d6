"""What servers say when they refuse: the patterns and codes of failures.py.

All texts are in lower case, in one line. Patterns are strings: `re`
compiles one when it is first needed and keeps it, so a process that meets
no error never pays for them.
"""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "auth", "quota", "rate", "overload", "network", "timeout", "bad_request",
    "context_overflow", "tool_schema", "server", "incomplete",
    "model_not_found"]

OVERFLOW = (
    r"exceeds? the context window|context window of this model"
    r"|exceeds? the available context size|exceed_context_size"
    r"|context (?:window|length|size|limit)s?(?: is| was| has been)?"
    r" (?:exceeded|too (?:long|large)|overflow|full|exceeds)"
    r"|context[_ ]?(?:length|window|limit)[_ ]?exceeded"
    r"|exceed\w*.{0,60}context[ _](?:window|length|limit|size)"
    r"|exceed\w*.{0,40}\bmax(?:imum)? context"
    r"|maximum (?:context|prompt|model|input) length"
    r"|(?:larger|longer|greater|more) than the .{0,30}context"
    r"|longer than the (?:maximum )?model"
    r"|maximum model length|context the overflows|context overflow"
    r"|reached context length of"
    r"|maximum number of tokens allowed|max message tokens"
    r"|max_prompt_tokens_exceeded|prompt token count of \d"
    r"|(?:prompt|input|conversation|messages?|text|input token length)"
    r"(?: is| are)? too long|prompt too long"
    r"|prompt[_ ](?:exceeds|is too large)|prompt exceeds max"
    r"|(?:input|prompt) tokens? exceed"
    r"|input (?:token )?(?:length|count).{0,30}exceed"
    r"|range of input length should be"
    r"|exceeded model token limit|tokens? in request more than max"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)"
    r"|reduce your (?:message size|prompt)"
    r"|input or output tokens must be reduced"
    r"|request too large for\b|tokens_limit_reached|request_too_large"
    r"|string_above_max_length|malformed input request: expected maxlength"
    r"|inputs\W{0,2} must have less than \d+ tokens"
    r"|inputs?\W{0,2} tokens? \+ \W?max_new_tokens"
    r"|\bmax_(?:seq|model|input|prompt)_len\b|prompt[_ ]tokens too long"
    r"|prompt_tokens.{0,24}must be less"
    r"|sum of .{0,8}prompt tokens.{0,8} \+ .{0,40}must be"
    r"|too many input tokens|exceed\w* (?:the |its )?(?:model'?s? )?"
    r"(?:maximum )?token limit of the model"
    r"|contextwindowexceeded|上下文(?:长度|窗口)|(?:prompt|输入).{0,6}超长"
    r"|超[过出].{0,12}(?:上下文|最大长度|最大输入)")
# The same words are used for limits per minute; these only count without.
OVERFLOW_IF_NO_RATE = (
    r"too many tokens|token limit (?:is |was |has been )?exceeded"
    r"|exceed\w* .{0,30}\btoken limit\b|total number of tokens")
PER_TIME = (
    r"\bper[ _-]?(?:minute|min|second|sec|hour|day|month)\b|perminute|perday"
    r"|/ ?(?:min|minute|day|month|s|sec)\b|\b[tr]p[mds]\b|rate[ _-]?limit"
    r"|please wait|too many requests|throttl|quota|daily|monthly")
TOOL = (
    r"tool call validation failed|was not in request\b"
    r"|not found in tool list|invalid_tool_call|invalid tool call"
    r"|tool_use_failed|failed to call a function|attempted to call tool"
    r"|malformed_function_call|unexpected_tool_call"
    r"|(?:failed to parse|error parsing|could not parse|cannot parse)"
    r" (?:the )?(?:tool|function)[ _]call"
    r"|failed to parse .{0,20}function call")

# Bounded: two open ends in a row took minutes over "model/model/...".
NAME = r"(?:\s*(?:name|id|code|identifier|version))?\s*[:=]?\s*" \
        r"[\"'`“(]*+[\w./:@+~,-]{0,120}[\"'`”)]*\s*"
GONE = (
    r"(?:not[ _](?:be )?found|does(?: not|n't) exist|not exist\b"
    r"|is not supported(?! (?:with|in|when|for (?:this|the) param))"
    r"|not supported by any|is not (?:currently )?available|not available"
    r"|is unavailable|is not a valid|is invalid|is unknown"
    r"|(?:has been|is|was) (?:deprecated|retired|decommissioned|removed"
    r"|deleted|discontinued|shut ?down)|no longer (?:available|supported)"
    r"|(?:has )?reached (?:its )?end of life"
    r"|is not loaded|not loaded|is not deployed|could not be found"
    r"|was not found|isn't available|not recognized|not_found)")
MODEL = (
    rf"\bmodels?(?:/\S{{1,120}}+)?{NAME}"
    rf"(?:you requested |you specified |provided )?{GONE}"
    r"|model[_ -]?not[_ -]?(?:found|exist|available|supported)\b"
    r"|modelnotfound|model_?decommissioned|model_deprecated"
    r"|(?:unknown|unsupported|invalid|no such|unrecognized)[ _]model\b"
    r"(?![ _](?:param|output|response|input|settings|config|argument))"
    r"|not a valid model|invalid_model|unavailable_model"
    r"|not found the model|model identifier is invalid"
    r"|no endpoints found for\b|no models? (?:is |are )?(?:currently )?loaded"
    r"|unable to access (?:non-serverless )?model"
    r"|not have (?:access|permission)s? to (?:access )?(?:the |this )?model"
    r"|(?:access|permission) to (?:the |this )?model"
    r"|no available channel|无可用渠道|deploymentnotfound"
    r"|deployment .{0,60}does not exist|model or endpoint .{0,80}not exist"
    r"|model is marked .{0,30}\blegacy|upgrade to an active model"
    r"|model\.accessdenied"
    r"|on-demand throughput isn.t supported|模型不存在|model_access_denied"
    r"|(?:publisher|provider|engine|function) \W?[\w./:-]+\W? (?:not found|"
    r"does not exist)|function '[\w-]+': not found|invalid_model_id"
    r"|not supported for generatecontent|check the model code")
PARAM_NOT_MODEL = (
    r"(?:parameter|param|value|argument|field|temperature|tools?\b|stream"
    r"|response_format|max_tokens|modality|modalities|image|audio|feature"
    r"|reasoning_effort|function calling|thinking)\S*"
    r".{0,60}(?:not supported|unsupported|does not support)"
    r"|unsupported (?:value|parameter)|unsupported_(?:value|parameter)")

QUOTA = (
    r"insufficient[ _-]?(?:\w+[ _-])?(?:quota|balance|credit|fund|tokens? "
    r"balance|account balance)|not enough (?:credit|balance|quota|funds)"
    r"|(?:balance|credit|credits|funds) (?:is |are |was )?(?:too low"
    r"|insufficient|not enough|exhausted|depleted|used up|has run out)"
    r"|credit_balance_exhausted|out of (?:\w+ )?(?:credits?|funds|balance)\b"
    r"|no (?:credits?\b(?! w(?:ere|ill))|balance|funds|active"
    r" (?:subscription|plan)|available (?:resource )?package)|no_credits?\b"
    r"|any credits|unpurchased"
    r"|all available credits|requires? more credits|(?:buy|purchase|add) "
    r"(?:more |extra )?(?:credits|usage|funds)(?! to unlock)"
    r"|purchase package|package (?:is )?(?:not active|expired|exhausted)"
    r"|(?:spend(?:ing)?|usage|billing|budget|cost|credit)[ _]?(?:hard[ _])?"
    r"limits?[ _](?:has been |was |is |have been |been )?"
    r"(?:exceeded|reached|exhausted|hit)|enforced_spend_limit"
    r"|(?:reached|exceeded|hit) (?:your|its|the|their|our)?[^.]{0,40}"
    r"(?:usage|spend(?:ing)?|billing|budget|credit) (?:limit|cap|quota)"
    r"|(?:spend(?:ing)?|budget|inference) limit|included credits"
    r"|usage_limit_reached"
    r"|budget (?:has been )?exceeded|exceeded ?budget"
    r"|billing_(?:hard_limit|not_active|error)|billing hard limit"
    r"|not active.{0,40}(?:billing|quota)|check your billing"
    r"|billing (?:account )?(?:is |has been )?(?:disabled|not enabled)"
    r"|enable billing|exceeded_current_quota|arrearage|overdue"
    r"|(?:account|bill).{0,20}(?:arrears|suspended|unpaid)"
    r"|in good standing|payment[_ ]required|payment (?:is )?(?:past due"
    r"|failed|method)|free tier .{0,30}exhausted|freetieronly"
    r"|set_?limit_?exceeded|(?:key|total|account|credit) limit exceeded"
    r"|free (?:allocated )?(?:quota|credits) (?:is |has been )?"
    r"(?:exceeded|exhausted|used)|extra usage is required"
    r"|subscription (?:plan )?(?:has )?expired|trial (?:has )?(?:ended"
    r"|expired)|quota[_ ](?:is |has been |was )?(?:exhausted|used up"
    r"|depleted)|out of (?:call volume )?quota|no quota\b"
    r"|(?:weekly|monthly|daily|5.hour|hourly)(?:/\w+)? (?:usage )?"
    r"(?:quota|usage limit|requests? limit)|used up your"
    r"|欠费|余额不足|余额已用完"
    r"|额度不足|额度已用|套餐.{0,8}(?:到期|过期)|使用上限|今日调用次数|未开通|暂未开放")
NO_CREDIT = r"insufficient|used all|balance|arrear|depleted|free allocated"
PLAN = (
    r"(?:plan|subscription|package|tier)\b.{0,60}(?:not|n't) (?:yet )?"
    r"(?:includ|support|cover|have access)|(?:not|n't) include"
    r"|not available "
    r"(?:for|on|in|with) your (?:current )?(?:plan|subscription|tier)"
    r"|(?<![\w-])(?<!org )(?<!id )(?:1113|1311)(?![\w-])")
OVER_QUOTA = r"exceeded your current quota|quota[_ ]?(?:has been )?exceeded" \
    r"|exceed\w* .{0,40}\bquota\b"
# Google says "exceeded your current quota" for its limits per minute too.
OPENS_AGAIN = (
    r"retry ?in \d|retrydelay|please retry|per ?-?minute|perminute"
    r"|per second|persecond|rate_limit_exceeded|ratelimitexceeded"
    r"|throttling|requests_per_base_model|resource_?exhausted")
FOR_LONG = r"per ?day\b|perday|per_day|limit: 0\b|per ?month|permonth" \
    r"|plan and billing(?!.*(?:retry ?(?:in|delay)|per ?-?(?:minute|second)))"

OVERLOAD = (
    r"overload|server(?: is| are|s are)?(?: currently| too| very)? busy"
    r"|(?:system|service|model|engine) (?:is )?(?:currently |too )?busy"
    r"|(?:at|over|out of|exceeded|insufficient|no|lack of|limited) "
    r"(?:the )?(?:\w+ )?capacity\b|capacity[_ ](?:limit )?(?:is |was |has "
    r"been )?(?:exceeded|exhausted|reached|constraint)|at_capacity"
    r"|capacity_exhausted|high (?:demand|load|traffic|volume)"
    r"|heavy (?:load|traffic|demand)|too busy"
    r"|model(?: \S+)? is (?:currently )?(?:loading|warming|starting)"
    r"|loading model|modelnotready|model_loading|no healthy upstream"
    r"|no available (?:server|worker|instance|replica)s?"
    r"|queue (?:is )?full|访问量过大|服务(?:器)?繁忙|系统繁忙"
    r"|负载(?:过高|已满)"
    r"|temporarily unavailable|service[_ ]?unavailable")
RATE = (
    r"rate[ _-]?limit[ _-]?(?:exceeded|reached|error|hit|is exceeded)"
    r"|ratelimit(?:error|exceeded)|rate[ _-]limited|rate_limit\b"
    r"|(?:exceed|reach|hit|over|above)\w*[^.]{0,60}\brate[ _-]?limit"
    r"|\brate limit\b.{0,20}(?:exceed|reach|hit)"
    r"|request limit (?:has been )?(?:reached|exceeded)"
    r"|too[ _]many[ _](?:requests|concurrent)|toomanyrequests|throttl"
    r"|resource[_ ](?:has been )?exhausted|resource_exhausted"
    r"|(?:requests?|tokens?) per (?:minute|second|min|day)\b.{0,40}"
    r"(?:exceed|limit|reach)|(?:exceed|limit|reach)\w*.{0,60}(?:requests?"
    r"|tokens?) per (?:minute|second|min)\b"
    r"|concurren\w+ (?:requests? )?(?:limit|quota)|max(?:imum)? (?:rpm|tpm"
    r"|concurrency)|速率限制|频率过高|请求过于频繁|并发数过高|流量限制|限流")

KEY = (
    r"(?:invalid|incorrect|missing|wrong|bad|expired|malformed|revoked"
    r"|disabled|unknown|no|provide an?|provide your|without(?: an)?)[ _]"
    r"(?:or \w+ )?(?:valid )?(?:\w+ )?(?:x-)?api[ _-]?(?:key|token)"
    r"|api[ _-]?(?:key|token)s?\b[^.]{0,60}?(?:not (?:set|valid|found"
    r"|provided|configured|authorized|active|exist)|is (?:invalid|missing"
    r"|required|expired|incorrect|wrong|disabled|revoked|empty|leaked)"
    r"|(?:has|was) (?:been )?(?:expired|revoked|disabled|deactivated"
    r"|reported|deleted|leaked)|invalid|required|expired|missing)"
    r"|api_key_invalid|invalid_api_key|invalidapikey|api key not set"
    r"|invalid x-api-key|credentials? (?:is|are) (?:invalid|missing)"
    r"|no_db_connection|no connected db")  # LiteLLM, of any key not its own
AUTH = (
    rf"{KEY}|authentication[ _](?:fail|error|required|credential)"
    r"|authentication fails|auth(?:entication|orization)? failed"
    r"|authenticationerror|permissiondeniederror|invalid authentication"
    r"|\bunauthori[sz]ed\b|\bunauthenticated\b|\bforbidden\b"
    r"|permission[ _]denied|access[ _]denied|accessdenied"
    r"|not authori[sz]ed|no auth credentials|login fail"
    r"|(?:invalid|expired|incorrect) (?:access |auth(?:entication)? |bearer "
    r"|api |id |refresh |session |security |service )?"
    r"token\b(?! (?:count|at|in|near|limit|budget))"
    r"|(?:access|bearer) token (?:expired|invalid|revoked)"
    r"|(?:access |bearer |api |auth )?\btoken (?:is |has |was )"
    r"(?:been )?(?:expired|invalid|revoked)|jwt (?:is )?expired"
    r"|security token included in the request is (?:invalid|expired)"
    r"|expiredtoken|unrecognizedclient|invalid_grant"
    r"|could not resolve authentication|token not match group"
    r"|signature (?:we calculated )?does not match|身份验证失败|鉴权失败"
    r"|身份驗證失敗|令牌(?:无效|已过期)|invalid credentials")
POLICY = (
    r"country|region\b|territory|location is not|geograph"
    r"|moderation|flagged|content[ _](?:policy|filter|management)|safety"
    r"|violat|prohibited|harmful|inappropriate|sensitive"
    r"|cloudflare|just a moment|attention required|sorry, you have been "
    r"blocked|error code: 10\d\d|captcha|only available for|currently only"
    r"|too large to be loaded|data policy|terms of service"
    r"|unsupported_country|不安全|敏感")
# "model" together with one of these is no use to repeat (spec 2.9).
MODEL_WORDS = r"not found|unknown|unsupported|does not exist|invalid\b"
BAD = (
    r"no address a request can go to|a web page \(html\)"
    r"|redirects in a circle|sent more than \d+ mib"
    r"|gave no list of models|invalid_request|badrequest|\bbad request\b"
    r"|content[_ ](?:policy|filter)|content_filter|validation[ _]error"
    r"|validationexception|unprocessable|invalid[_ ](?:argument|params?\b"
    r"|parameter|value|json|schema|image|role|type)|unknown parameter"
    r"|unsupported (?:parameter|value|media)|missing required|"
    r"field required|new_sensitive|unsafe|failed_precondition"
    r"|responsible ai|safety (?:system|settings|filter)|method not allowed"
    r"|blocked by|参数(?:有误|错误|非法)")
TIMEOUT = (
    r"timed?[ -]?out|\btimeout|etimedout|deadline[ _]?exceeded"
    r"|context deadline|did not answer (?:within|in time)"
    r"|took too long|not respond(?:ed)? in time|gateway time-?out"
    r"|no connection in time|apitimeouterror|超时")
NETWORK = (
    r"could not reach|connection (?:was |is |has been )?(?:refused|reset"
    r"|aborted|closed|error|lost|failed|dropped|broken|interrupted)"
    r"|connection (?:attempt )?failed|econn(?:refused|reset|aborted)"
    r"|enotfound|ehostunreach|enetunreach|epipe\b|eai_again|econnaborted"
    r"|connect(?:ion)?error|network (?:error|connection|is unreachable"
    r"|failure|issue)|network_error|\bdns\b|getaddrinfo|name resolution"
    r"|name or service not known|nodename nor servname|no address associ"
    r"|no route to host|host (?:is )?(?:unreachable|down|not found)"
    r"|remote end closed|remotedisconnected|violation of protocol"
    r"|socket hang ?up|fetch failed|failed to fetch|\btls\b|\bssl\b"
    r"|certificate|broken pipe|server disconnected|remoteprotocolerror"
    r"|upstream connect error|error sending request|(?:failed|could not"
    r"|unable|cannot) (?:to )?connect|proxy (?:error|refused|connection)"
    r"|proxyerror|all connection attempts failed|网络错误")
INCOMPLETE = (
    r"incomplete|unexpected (?:eof|end)|premature|broke off"
    r"|stream (?:\w+ ){0,3}(?:ended|closed|terminated|interrupted|cut|broke"
    r"|reset|error|disconnected)|without sending complete|ended before"
    r"|context cancell?ed|response ended|\bterminated\b|connection closed "
    r"(?:before|mid)|truncated|empty (?:response|answer|reply)"
    r"|no (?:content|choices) in (?:the )?response")
# An answer that came to nothing for a reason that stays the same.
FINAL_ANSWER = r"content filter|safety|used up its tokens|, twice" \
    r"|held (?:its answer )?back|refus|blocked|prohibited|recitation"

# Codes of vendors whose texts may be in any language.
CODES: dict[str, Kind] = {
    # Z.AI and Zhipu (docs.bigmodel.cn/cn/api/api-code)
    **dict.fromkeys(("1001", "1002", "1003", "1004", "1110", "1111", "1112",
                     "1121"), "auth"),
    **dict.fromkeys(("1113", "1304", "1308", "1309", "1310", "1311"),
                    "quota"),
    **dict.fromkeys(("1302", "1303", "1313"), "rate"),
    **dict.fromkeys(("1305", "1312"), "overload"),
    **dict.fromkeys(("1210", "1212", "1213", "1214", "1215", "1221", "1222",
                     "1301"), "bad_request"),
    "1211": "model_not_found", "1261": "context_overflow",
    "1234": "network",
    # MiniMax (platform.minimax.io/docs/api-reference/errorcode)
    "minimax:1001": "timeout",
    **dict.fromkeys(("minimax:1000", "minimax:1013", "minimax:1024",
                     "minimax:1033"), "server"),
    **dict.fromkeys(("minimax:1002", "minimax:1041", "minimax:2045"),
                    "rate"),
    **dict.fromkeys(("minimax:1004", "minimax:2049"), "auth"),
    **dict.fromkeys(("minimax:1008", "minimax:1028", "minimax:1030",
                     "minimax:2056", "minimax:2061"), "quota"),
    **dict.fromkeys(("minimax:1026", "minimax:1027", "minimax:1042",
                     "minimax:2013"), "bad_request"),
    "minimax:1039": "rate",
    # Words that whole families of servers share
    **dict.fromkeys(("insufficient_quota", "insufficient_user_quota",
                     "credit_balance_exhausted", "billing_error",
                     "organization_spend_limit_exceeded",
                     "project_spend_limit_exceeded",
                     "organization_usage_limit_exceeded",
                     "usage_limit_reached", "exceeded_current_quota_error",
                     "arrearage"), "quota"),
    **dict.fromkeys(("overloaded_error", "engine_overloaded_error",
                     "model_capacity_exhausted"), "overload"),
    **dict.fromkeys(("model_not_found", "modelnotfound",
                     "deploymentnotfound"), "model_not_found"),
    **dict.fromkeys(("context_length_exceeded", "request_too_large",
                     "exceed_context_size_error", "tokens_limit_reached",
                     "model_max_prompt_tokens_exceeded"),
                    "context_overflow"),
    "tool_use_failed": "tool_schema",
    "unsupported_country_region_territory": "bad_request",
}

# A number is a status where it stands like one: not in an id, a version, a
# port, an amount of something or a limit.
STATUS = (
    r"(?<![\w.\-#/:$@])(?<!\blimit )(?<!\blimit: )(?<!\brequested )"
    r"(?<!\bused )(?<!\bmaximum )(?<!\bmax )(?<!\bthan )(?<!\bport )"
    r"(?<!\bport=)(?<!\bport: )(?<!\bline )(?<!\bcolumn )(?<!\blimit of )"
    r"(?<!\bposition )(?<!\bsent )(?<!\bgenerate )(?<!\bid )(?<!\bid: )"
    r"(?<!\bpage )(?<!\bstep )"
    r"([45]\d\d)(?![\w%]|[.\-/:]\w|\s*(?:tokens?|ms|s|sec|seconds|minutes"
    r"|chars?|characters|bytes|[km]i?b|words|lines|items|requests(?! fail)"
    r"|messages|times|of|files|rows|usd|dollars|retries|attempts|days|hours"
    r"|images|pages|points|credits|x)\b)")
