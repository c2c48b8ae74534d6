"""Words that carry no topic, left out of queries (never of the index)."""

_ENGLISH = """
a about above after again against all also am an and any are aren as at be
because been before being below between both but by can cannot could couldn
d did didn do does doesn doing don down during each few for from further had
hadn has hasn have haven having he her here hers herself him himself his how
i if in into is isn it its itself just let ll m me might more most mustn my
myself no nor not of off on once only or other our ours ourselves out over
own please re s same shall shan she should shouldn so some such t than that
the their theirs them themselves then there these they this those through to
too under until up us ve very was wasn we were weren what when where which
while who whom whose why will with won would wouldn you your yours yourself
yourselves
tell give show know
"""
STOP_WORDS = frozenset(_ENGLISH.split())

# What questions are made of: kept in a query, since "name" may be the very
# thing that was noted, but weighing little.
_WEAK = """
any best call called calls date day days find get gets getting go goes going
got happen happened happens keep keeps kept kind kinds know known knows last
like likes liked long make makes many may much name named names need needs
next often old one people person please prefer said say says sort thing
things think time times type use used uses want wanted wants way went
wann warum wer wie viele wieviel wo welche welchem welchen welcher welches
combien comment pourquoi quand quel quelle quelles quels
cual cuales cuando cuanta cuantas cuanto cuantos donde quien quienes
qual quais quando quanta quantas quanto quantos onde quem
quali quale quante quanti dove perche
hoeveel waar waarom wanneer welk welke
dlaczego gdzie ile jaka jaki jakie kiedy ktora ktory kto
kac hangi kim nasil nerede nicin
где зачем каков какая какие какои когда кто куда почему сколько
ποσα ποσο ποια ποιο ποιοσ ποτε που πωσ
اين كم كيف لماذا ماذا متى
कब कहां कितना कितनी कितने किस कैसे कौन क्या क्यों
时候 時候 名字 哪种 哪種 时间 時間 知道 告诉 告訴
시간 이름 알려 려줘 뭐지 뭐야 인가
名前 時間 教え
"""
WEAK_WORDS = frozenset(_WEAK.split())

# Question words and particles of Chinese, Japanese and Korean, as the pairs
# and single characters that segmentation makes of them.
_CJK = """
几 幾 几岁 幾歲 几点 幾點 么时 麼時
什么 什麼 甚麼 怎么 怎麼 怎样 怎樣 哪里 哪裡 哪儿 哪些 哪个 哪個 为什 為什 多少
是谁 是誰 谁是 誰是 么是 麼是 是什 几个 幾個 如何 为何 為何
的 了 吗 嗎 呢 吧 么 麼 什 哪 谁 誰 是 在 和 与 與 就 都 而 及
何で 何が 何を 何の 何か 何 誰が 誰の 誰か 誰 いつ どこ どの どう なぜ
무엇 무슨 어디 어떤 어떻 떻게 언제 누구 왜
"""
CJK_STOP_WORDS = frozenset(_CJK.split())

# Characters of Chinese and Japanese that only join words or end sentences.
PARTICLES = frozenset("的了吗嗎呢吧么麼几幾はをがにでへもとの")
