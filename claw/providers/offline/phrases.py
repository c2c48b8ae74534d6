"""The few sentences that the offline provider says by itself."""
# Wide characters count twice in a line's length.
# ruff: noqa: E501

from collections.abc import Mapping

from claw.providers.offline.intents import Language

# {name} marks are filled in by say().
_SAYINGS: Mapping[str, Mapping[Language, str]] = {
    "no_model": {
        "en": "No model is configured, so I can't answer that; I can quote "
              "matching lines of piped text and memories, calculate, tell "
              "the time, and remember or forget things.",
        "ko": "설정된 모델이 없어 그 질문에는 답할 수 없습니다. 파이프로 받은 글과 "
              "기억에서 맞는 부분을 인용하고, 계산하고, 시각을 알리고, 기억하거나 "
              "잊을 수 있습니다.",
        "zh": "没有配置模型,因此无法回答这个问题;我可以引用管道文本和记忆中匹配的内容、"
              "计算、报时,以及记住或忘记事情。",
        "zh-hant": "沒有設定模型,因此無法回答這個問題;我可以引用管線文字和記憶中"
                   "相符的內容、計算、報時,以及記住或忘記事情。",
        "ja": "モデルが設定されていないため、その質問には答えられません。パイプの文章や"
              "記憶から合う箇所を引用し、計算し、時刻を知らせ、覚えたり忘れたりできます。"},
    "greeting": {
        "en": "Hello: no model is configured, so I can only quote piped text "
              "and memories, calculate, tell the time and keep memories.",
        "ko": "안녕하세요. 설정된 모델이 없어 글과 기억의 인용, 계산, 시각 안내, "
              "기억만 할 수 있습니다.",
        "zh": "你好:没有配置模型,我只能引用文本和记忆、计算、报时和保存记忆。",
        "zh-hant": "你好:沒有設定模型,我只能引用文字和記憶、計算、報時和保存記憶。",
        "ja": "こんにちは。モデルが設定されていないので、文章や記憶の引用、計算、時刻、"
              "記憶だけができます。"},
    "no_match": {
        "en": "No line of the text matches the question ({lines} lines, "
              "{words} words), and no model is configured to do more.",
        "ko": "글에서 질문과 맞는 부분을 찾지 못했습니다({lines}줄, {words}단어). "
              "더 할 수 있는 모델이 설정되어 있지 않습니다.",
        "zh": "文本中没有与问题匹配的内容({lines} 行,{words} 个词),"
              "也没有配置模型来做更多。",
        "zh-hant": "文字中沒有與問題相符的內容({lines} 行,{words} 個詞),"
                   "也沒有設定模型來做更多。",
        "ja": "文章に質問と合う箇所がありません({lines} 行、{words} 語)。"
              "それ以上のことをするモデルは設定されていません。"},
    "nothing_known": {
        "en": "No memory matches \"{subject}\".",
        "ko": "\"{subject}\"에 맞는 기억이 없습니다.",
        "zh": "没有与“{subject}”匹配的记忆。",
        "zh-hant": "沒有與「{subject}」相符的記憶。",
        "ja": "「{subject}」に合う記憶はありません。"},
    "stored": {
        "en": "Remembered: {subject}", "ko": "기억했습니다: {subject}",
        "zh": "已记住:{subject}", "zh-hant": "已記住:{subject}",
        "ja": "覚えました: {subject}"},
    "forgotten": {
        "en": "Forgotten: {subject}", "ko": "잊었습니다: {subject}",
        "zh": "已忘记:{subject}", "zh-hant": "已忘記:{subject}",
        "ja": "忘れました: {subject}"},
    "which": {
        "en": "Nothing was forgotten. Which of these? Say \"forget KEY\" "
              "with its key.",
        "ko": "아직 잊지 않았습니다. 어느 것인가요? 키를 넣어 \"forget KEY\"라고 "
              "하세요.",
        "zh": "还没有忘记。是哪一条?请用键名说“forget KEY”。",
        "zh-hant": "還沒有忘記。是哪一條?請用鍵名說「forget KEY」。",
        "ja": "まだ忘れていません。どれですか。キーを付けて「forget KEY」と言って"
              "ください。"},
    "no_tool": {
        "en": "That needs the tool {subject}, which is not at hand here.",
        "ko": "그러려면 {subject} 도구가 필요한데 여기에는 없습니다.",
        "zh": "这需要工具 {subject},此处没有。",
        "zh-hant": "這需要工具 {subject},此處沒有。",
        "ja": "それには {subject} ツールが必要ですが、ここにはありません。"},
    "failed": {
        "en": "The tool {tool} did not do it: {subject}",
        "ko": "{tool} 도구가 실행하지 못했습니다: {subject}",
        "zh": "工具 {tool} 没有完成:{subject}",
        "zh-hant": "工具 {tool} 沒有完成:{subject}",
        "ja": "ツール {tool} は実行できませんでした: {subject}"},
    "no_value": {
        "en": "That has no value: {subject}.",
        "ko": "값이 없습니다: {subject}.", "zh": "没有值:{subject}。",
        "zh-hant": "沒有值:{subject}。", "ja": "値がありません: {subject}。"},
}

_WEEKDAYS: Mapping[Language, tuple[str, ...]] = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday",
           "Saturday", "Sunday"),
    "ko": tuple(f"{d}요일" for d in "월화수목금토일"),
    "zh": tuple(f"星期{d}" for d in "一二三四五六日"),
    "zh-hant": tuple(f"星期{d}" for d in "一二三四五六日"),
    "ja": tuple(f"{d}曜日" for d in "月火水木金土日"),
}


def say(name: str, language: Language, **marks: object) -> str:
    """A sentence in a language."""
    text = _SAYINGS[name][language]
    for mark, value in marks.items():
        text = text.replace("{" + mark + "}", str(value))
    return text


def weekday(number: int, language: Language) -> str:
    """The name of a day; Monday is 0."""
    return _WEEKDAYS[language][number]
