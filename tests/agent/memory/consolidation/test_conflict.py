"""Which of two facts takes the place of the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.memory.consolidation.conflict import replaces

THRESHOLD = 0.85

# Both can't hold: whichever comes later is what holds.
EXCLUDING = [
    # English
    ("The user's favourite colour is green.",
     "The user's favourite colour is blue."),
    ("My favorite color is green", "The user's favourite colour is blue now."),
    ("The user’s favourite colour: green", "favourite colour is dark blue"),
    ("The user's favourite Italian restaurant is Ramiro",
     "The user's favourite Italian restaurant is Gambrinus."),
    ("The user moves on Monday", "The user moves on Tuesday."),
    ("I am moving to Porto on Monday", "The user moves to Porto on Friday"),
    ("The user's dentist appointment is on 3 May",
     "The user's dentist appointment is on 4 May."),
    ("The wedding is on Saturday", "The wedding is on Sunday"),
    ("The interview is at 9:30", "The interview is at 10:15"),
    ("The user is 30 years old", "I am 31 years old"),
    ("The user is 30 years old", "I'm 31 years old"),
    ("The user has 2 children", "The user has 3 children"),
    ("The user weighs 82.5 kg", "The user weighs 79.5 kg."),
    ("The user's birthday is on 3 May", "The user's birthday is on 5 May"),
    ("My name is Ann", "The user's name is Kim"),
    ("The user eats meat", "The user does not eat meat."),
    ("The user eats meat", "I don't eat meat"),
    ("The user can eat nuts", "The user cannot eat nuts"),
    ("The user can eat nuts", "The user can’t eat nuts"),
    ("The user lives in Oslo", "The user no longer lives in Oslo"),
    ("The user's sister eats meat", "The user's sister never eats meat"),
    ("The user has no children", "The user has children"),
    ("The user is vegetarian", "The user isn't vegetarian anymore"),
    # Chinese
    ("用户最喜欢的颜色是绿色。", "用户最喜欢的颜色是蓝色。"),
    ("我最喜歡的顏色是綠色", "用戶最喜歡的顏色是藍色"),
    ("用户星期一搬家", "用户星期二搬家"),
    ("我下周一搬家", "用户将在下周三搬家"),
    ("用户的生日是5月3日", "用户的生日是5月4日"),
    ("用户30岁", "用户今年31岁了"),
    ("用户的名字叫王明", "用户的名字是李华"),
    ("用户吃肉", "用户不吃肉"), ("用户吃肉", "用户不再吃肉"),
    ("用户有孩子", "用户没有孩子"),
    # Korean
    ("사용자가 가장 좋아하는 색은 초록색이다.",
     "사용자가 가장 좋아하는 색은 파란색이다."),
    ("제일 좋아하는 색은 초록색이에요", "제일 좋아하는 색은 파란색"),
    ("사용자는 월요일에 이사한다", "사용자는 화요일에 이사한다"),
    ("나는 5월 3일에 결혼한다", "사용자는 5월 4일에 결혼한다"),
    ("사용자의 생일은 5월 3일이다", "사용자의 생일은 5월 4일이다"),
    ("사용자는 30살이다", "사용자는 31살이다"),
    ("사용자는 고기를 먹는다", "사용자는 고기를 먹지 않는다"),
    ("사용자는 고기를 먹는다", "사용자는 고기를 안 먹는다"),
    ("사용자는 아이가 있다", "사용자는 아이가 없다"),
    ("사용자의 이름은 김민수다", "사용자의 이름은 박지훈이다"),
]

# Both may hold, or nobody can tell: nothing is superseded.
COMPATIBLE = [
    # somebody else
    ("The user's sister lives in Lisbon", "The user's brother lives in "
     "Lisbon"),
    ("My sister's favourite colour is green", "My brother's favourite colour "
     "is blue"),
    ("My sister's favourite colour is green", "My sister's favourite colour "
     "is blue"),  # there may be two
    ("The user's favourite colour is green", "Her favourite colour is blue"),
    ("Ann's favourite colour is green", "Anna's favourite colour is blue"),
    ("The favourite colour of the user is green", "The favourite colour of "
     "the cat is blue"),
    ("The cat's name is Tom", "The cat's name is Jerry"),
    ("My sister's birthday is on 3 May", "My sister's birthday is on 5 May"),
    ("The user's son is 5 years old", "The user's son is 7 years old"),
    ("Ann eats meat", "Bob does not eat meat"),
    ("姐姐住在里斯本", "哥哥住在里斯本"),
    ("用户姐姐最喜欢的颜色是绿色", "用户哥哥最喜欢的颜色是蓝色"),
    ("여동생은 리스본에 산다", "남동생은 리스본에 산다"),
    ("여동생이 가장 좋아하는 색은 초록색이다",
     "남동생이 가장 좋아하는 색은 파란색이다"),
    # something else
    ("The user's favourite colour is green", "The user's favourite food is "
     "pizza"),
    ("The user's favourite tea is green", "The user's favourite coffee is "
     "black"),
    ("The dentist appointment is on Monday", "The vet appointment is on "
     "Tuesday"),
    ("The user moves to Porto on Monday", "The user moves to Rome on "
     "Tuesday"),
    ("The user has 2 cats", "The user has 3 dogs"),
    ("用户最喜欢的颜色是绿色", "用户最喜欢的菜是火锅"),
    ("가장 좋아하는 색은 초록색이다", "가장 좋아하는 음식은 김치다"),
    # room for two
    ("The user is allergic to peanuts", "The user is allergic to penicillin"),
    ("The user likes tea", "The user likes coffee"),
    ("The user speaks Korean", "The user speaks Chinese"),
    ("The user has a cat", "The user has a dog"),
    ("The user is a teacher", "The user is a vegetarian"),
    ("The user swims on Mondays", "The user swims on Tuesdays"),
    ("The user has yoga on Monday", "The user has yoga on Tuesday"),
    ("The user flew to Rome on 3 May", "The user flew to Rome on 9 June"),
    ("The user moved in May 2019", "The user moved in June 2021"),
    ("The user ran 5 km", "The user ran 10 km"),
    ("Server 1 runs Debian", "Server 2 runs Debian"),
    ("The user lives in Berlin", "The user lives in Germany"),
    ("The user lives in Berlin", "The user lives in a small flat"),
    ("The user works at Acme", "The user works at night"),
    ("用户对花生过敏", "用户对青霉素过敏"), ("用户喜欢茶", "用户喜欢咖啡"),
    ("用户住在柏林", "用户住在德国"),
    ("사용자는 땅콩 알레르기가 있다", "사용자는 페니실린 알레르기가 있다"),
    ("사용자는 차를 좋아한다", "사용자는 커피를 좋아한다"),
    ("사용자는 5월 3일에 이사했다", "사용자는 6월 9일에 이사했다"),
    # one more, or the same in other words
    ("The user's favourite colours are green", "The user's favourite colours "
     "are blue"),
    ("The user's favourite colour is green", "The user's favourite colour is "
     "also blue"),
    ("The user's favourite colour is green", "The user's favourite colour is "
     "green and blue"),
    ("The user's favourite colour is green", "The user's favourite colour is "
     "dark green"),
    ("The user's favourite colour is green", "The user's favourite colour is "
     "blue for walls"),
    ("The user's favourite colour is green, blue", "The user's favourite "
     "colour is red"),
    ("The user's name is Ann", "The user's name is Ann Smith"),
    ("The dentist appointment is on Monday", "The dentist appointment is at "
     "9:30"),
    ("The dentist appointment is on Monday", "The dentist appointment is at "
     "the clinic"),
    ("The user's birthday is in May", "The user's birthday is on 3 May"),
    ("The user's favourite colour is green", "The user's favourite colour "
     "was blue"),
    ("The user smokes", "The user did not smoke"),
    ("The user does not eat meat", "The user does not eat fish"),
    ("The user does not eat meat", "The user never eats meat"),
    ("The user eats fish", "The user does not eat meat"),
    ("用户最喜欢的颜色是绿色", "用户最喜欢的颜色是深绿色"),
    ("用户的生日在5月", "用户的生日是5月3日"), ("用户吃鱼", "用户不吃肉"),
    ("가장 좋아하는 색은 초록색이다", "가장 좋아하는 색은 파란색과"),
    ("사용자는 생선을 먹는다", "사용자는 고기를 먹지 않는다"),
    # nothing
    ("", ""), ("", "The user eats meat"), ("!!!", "???"),
    ("not", "no"), ("The user", "The user does not"),
    ("The user eats meat", "The user eats meat."),
]


@pytest.mark.each(("one", "other"), EXCLUDING)
def test_of_two_that_exclude_each_other_the_later_holds(one, other):
    assert replaces(one, other, THRESHOLD)
    assert replaces(other, one, THRESHOLD)


@pytest.mark.each(("one", "other"), COMPATIBLE)
def test_what_may_hold_beside_it_stays(one, other):
    assert not replaces(one, other, THRESHOLD)
    assert not replaces(other, one, THRESHOLD)


@pytest.mark.parametrize(("threshold", "expected"), [
    (0.0, True), (0.66, True), (0.67, False), (0.85, False), (1.0, False)])
def test_the_threshold_is_how_alike_the_subjects_must_be(threshold,
                                                         expected):
    """Two of three words in common."""
    assert replaces("My favourite green tea shop is Mariage",
                    "My favourite black tea shop is Palais",
                    threshold) is expected


@pytest.mark.parametrize("threshold", [1.01, 2.0])
def test_a_threshold_above_one_replaces_nothing(threshold):
    assert not any(replaces(one, other, threshold)
                   for one, other in EXCLUDING)


@pytest.mark.parametrize(("one", "other"), [
    ("My favourite colour is green", "My favourite food is pizza"),
    ("The dentist appointment is on Monday",
     "The vet appointment is on Tuesday"),
    ("가장 좋아하는 색은 초록색이다", "가장 좋아하는 음식은 김치다")])
def test_half_in_common_is_another_matter_at_any_threshold(one, other):
    assert not replaces(one, other, 0.0)


@given(st.text(), st.text())
def test_any_text_can_be_judged(one, other):
    assert not replaces(one, one, THRESHOLD)
    assert replaces(one, other, THRESHOLD) is replaces(other, one, THRESHOLD)
