"""Memories as people write them, what they later ask, and what they ask
that no memory answers."""

# key -> (memory, questions that must find it)
ENGLISH = {
    "favourite_colour": ("Mina's favourite colour is green", [
        "What is Mina's favorite color?",
        "which colour does Mina like best?"]),
    "cat": ("The cat is called Biscuit and is seven years old", [
        "how old is our cat?", "What's the name of the cat?"]),
    "dentist": ("Dentist appointment on 2026-12-03 at 14:30 with Dr. Okafor", [
        "when is my dentist appointment?", "who is my dentist?",
        "what happens on 2026-12-03?"]),
    "wifi": ("The guest wifi password is tulip-harbour-77", [
        "what's the wifi password for guests?", "wifi password"]),
    "deploy": ("We deploy to production every Thursday; freeze from "
               "20 December", [
        "when do we deploy to production?", "which day are deployments?"]),
    "allergy": ("I am allergic to peanuts and shellfish", [
        "what am I allergic to?", "do I have any allergies?"]),
    "report_file": ("The quarterly numbers live in report_2026_q3.xlsx on "
                    "the shared drive", [
        "where is report_2026_q3.xlsx?", "where are the quarterly numbers?"]),
    "retry_fn": ("backoff_with_jitter in net/retry.py caps the delay at 60 "
                 "seconds", [
        "what does backoff_with_jitter do?",
        "what's the cap of the delay in retry.py?"]),
    "accountant": ("Our accountant is Lena Fischer, lena.fischer@example.org",
                   ["who is our accountant?", "what's Lena Fischer's email?",
                    "who is lena.fischer@example.org?",
                    "how do I reach Lena?"]),
    "running": ("Tom ran the Berlin marathon in 3:42 last September", [
        "how fast did Tom run the marathon?", "who runs marathons?"]),
    "sister": ("My sister Ana studies architecture in Lisbon", [
        "what is my sister studying?", "where does Ana study?"]),
    "coffee": ("I drink my coffee black, no sugar ☕", [
        "how do I drink my coffee?", "do I take sugar in coffee?"]),
    "car": ("The car's licence plate is KX21 ZPT, parked on level 3", [
        "what is the licence plate of my car?", "where did I park the car?"]),
    "book": ("Reading 'The Left Hand of Darkness' by Ursula Le Guin", [
        "which book by Le Guin am I reading?", "what book was I reading?"]),
    "server": ("The staging server runs on 10.0.4.17 port 8443", [
        "what is the IP of the staging server?",
        "which port does staging use?"]),
    "anniversary": ("Wedding anniversary: 14 June 2015", [
        "when is our wedding anniversary?", "anniversary date"]),
    "indent": ("Prefers tabs over spaces and 100 characters a line in Python",
               ["tabs or spaces in Python?",
                "how long may a line of Python be?"]),
    "flight": ("Flight LH1234 to Oslo leaves on Friday at 07:15 from gate "
               "B22", ["when does my flight to Oslo leave?",
                       "what gate does LH1234 leave from?"]),
    "rent": ("Rent is 1,150 euros, paid on the first of the month to Mr "
             "Novak", ["how much rent do we pay?",
                       "who do I pay the rent to?"]),
    "meeting": ("Weekly planning meetings were moved to Tuesdays at 10 am", [
        "when is the weekly planning meeting?",
        "was the planning meeting moved?"]),
    "knee": ("Doctor said to avoid running until the knee has healed", [
        "what did the doctor say about my knee?", "is my knee healing?"]),
    "party": ("Sam's birthday party 🎂 is at the bowling alley", [
        "where is Sam's birthday party?", "🎂"]),
    "invoice": ("Invoice #4711 from Acme Tools is still unpaid", [
        "which invoices are unpaid?", "what about invoice 4711?"]),
    "garden": ("Planted tomatoes and basil on the balcony in April", [
        "what did I plant on the balcony?", "when were the tomatoes planted?"
    ]),
    "school": ("The children's school starts at 8:10 and ends at 15:00", [
        "when does school start for the children?",
        "what time does the children's school end?"]),
    "database": ("The project uses PostgreSQL 16 with pgvector", [
        "which version of postgresql does the project use?",
        "are we using postgresql?"]),
    "manager": ("Priya is my manager since March; she likes short e-mails",
                ["who is my manager?",
                 "what kind of e-mails does Priya like?"]),
    "lego": ("Ben collects Lego trains and old stamps", [
        "what does Ben collect?", "who has a collection of stamps?"]),
    "backup": ("Backups are written nightly to s3://acme-backups and kept "
               "for 30 days", ["where do the backups go?",
                               "how long do we keep backups?"]),
    "piano": ("Piano lessons with Mrs Hartmann every Wednesday afternoon", [
        "when are the piano lessons?", "who teaches the piano lessons?"]),
}
ENGLISH_ELSEWHERE = [
    "what is the capital of Mongolia?",
    "explain how photosynthesis works in plants",
    "write a haiku about the ocean",
    "how many legs does a spider have?",
    "translate good morning into Swahili",
    "who won the world cup in 1998?",
    "what is the boiling point of nitrogen?",
    "recommend a recipe for lentil soup",
    "why is the sky blue?",
    "how do volcanoes erupt?",
    "sort a list of strings in Haskell",
    "what time is it?",
]

KOREAN = {
    "색": ("미나는 초록색을 가장 좋아한다", [
        "미나가 좋아하는 색은?", "미나가 가장 좋아하는 색깔이 뭐야?"]),
    "고양이": ("고양이 이름은 비스킷이고 일곱 살이다", [
        "고양이 이름이 뭐지?", "우리 고양이는 몇 살이야?"]),
    "치과": ("치과 예약은 12월 3일 오후 2시 30분이다", [
        "치과 예약이 언제야?", "12월 3일에 뭐 있어?"]),
    "와이파이": ("손님용 와이파이 비밀번호는 tulip77이다", [
        "와이파이 비밀번호 알려줘", "손님 와이파이 비번이 뭐야?"]),
    "알레르기": ("나는 땅콩과 조개에 알레르기가 있다", [
        "내가 무슨 알레르기가 있지?", "땅콩 먹어도 돼?"]),
    "배포": ("매주 목요일에 운영 서버에 배포한다", [
        "배포는 무슨 요일에 하지?", "운영 서버 배포 언제 해?"]),
    "회의": ("주간 회의가 화요일 오전 10시로 옮겨졌다", [
        "주간 회의는 언제야?", "주간 회의 시간이 언제로 바뀌었지?"]),
    "누나": ("누나는 리스본에서 건축을 공부한다", [
        "누나는 어디에서 공부해?", "누나 전공이 건축이었나?"]),
    "보고서": ("분기 실적은 report_2026_q3.xlsx 파일에 있다", [
        "분기 실적 파일 어디 있어?", "report_2026_q3.xlsx에 뭐가 있지?"]),
    "생일": ("아버지 생신은 음력 8월 15일이다", [
        "아버지 생신이 언제지?", "아버지 생신은 음력으로 며칠이야?"]),
}
KOREAN_ELSEWHERE = [
    "몽골의 수도는 어디야?", "광합성이 뭐야?", "바다에 대한 시를 써 줘",
    "거미 다리는 몇 개야?", "하늘은 왜 파란가요?", "오늘 날씨 어때?",
]

CHINESE = {
    "颜色": ("小美最喜欢的颜色是绿色", [
        "小美喜欢什么颜色?", "小美最爱哪种颜色?"]),
    "猫": ("我家的猫叫饼干,今年七岁", ["我家的猫叫什么名字?", "猫几岁了?"]),
    "牙医": ("牙医预约在12月3日下午两点半", [
        "什么时候看牙医?", "牙医预约是几号?"]),
    "密码": ("访客无线网络的密码是tulip77", [
        "无线网络密码是什么?", "访客的密码是多少?"]),
    "过敏": ("我对花生和贝类过敏", ["我对什么过敏?", "我能吃花生吗?"]),
    "部署": ("我们每周四把系统部署到生产环境", [
        "我们哪天部署?", "生产环境什么时候部署?"]),
    "会议": ("每周的例会改到星期二上午十点", [
        "例会是什么时候?", "例会改到哪天了?"]),
    "姐姐": ("我姐姐在里斯本学习建筑", [
        "姐姐在哪里学习?", "我姐姐学的是什么?"]),
    "报告": ("季度数据在report_2026_q3.xlsx里", [
        "季度数据在哪个文件?", "report_2026_q3.xlsx里有什么?"]),
    "會計": ("我們的會計是陳麗華,電話是0912-345-678", [
        "會計的電話是多少?", "誰是我們的會計?"]),
}
CHINESE_ELSEWHERE = [
    "蒙古的首都是哪里?", "光合作用是怎么回事?", "写一首关于大海的诗",
    "蜘蛛有几条腿?", "天空为什么是蓝色的?", "火山為什麼會爆發?",
]

JAPANESE = {
    "色": ("美奈さんの好きな色は緑です", [
        "美奈さんの好きな色は何ですか?", "美奈さんは何色が好き?"]),
    "猫": ("うちの猫の名前はビスケットで、七歳です", [
        "猫の名前は?", "うちの猫は何歳ですか?"]),
    "歯医者": ("歯医者の予約は12月3日の午後2時半", [
        "歯医者の予約はいつ?", "12月3日の予定は?"]),
    "パスワード": ("来客用のWi-Fiのパスワードはtulip77です", [
        "Wi-Fiのパスワードを教えて", "来客用のパスワードは何?"]),
    "アレルギー": ("私はピーナッツと貝にアレルギーがあります", [
        "私のアレルギーは何?", "ピーナッツは食べられますか?"]),
    "デプロイ": ("毎週木曜日に本番環境へデプロイする", [
        "デプロイは何曜日?", "本番環境へのデプロイはいつですか?"]),
    "会議": ("週次会議は火曜日の午前10時に変更された", [
        "週次会議はいつですか?", "会議は何時に変更された?"]),
    "姉": ("姉はリスボンで建築を勉強している", [
        "姉は何を勉強していますか?", "リスボンにいるのは誰?"]),
    "報告書": ("四半期の数字はreport_2026_q3.xlsxにある", [
        "四半期の数字はどこ?", "report_2026_q3.xlsxの中身は?"]),
    "記念日": ("結婚記念日は6月14日", [
        "結婚記念日はいつ?", "6月14日は何の日?"]),
}
JAPANESE_ELSEWHERE = [
    "モンゴルの首都はどこですか?", "光合成とは何ですか?",
    "海についての俳句を書いて", "蜘蛛の足は何本?", "空はなぜ青いのですか?",
    "火山はどうして噴火するの?",
]

ALL = {
    "en": (ENGLISH, ENGLISH_ELSEWHERE), "ko": (KOREAN, KOREAN_ELSEWHERE),
    "zh": (CHINESE, CHINESE_ELSEWHERE), "ja": (JAPANESE, JAPANESE_ELSEWHERE),
}
