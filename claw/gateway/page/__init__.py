"""The page of the gateway: what its owner sees and does in a browser.

files.py    the page itself: HTML, style and script, as they are shipped
words.py    every word that it shows
session.py  signing in: the key of the gateway in a cookie
rows.py     a question and an action as rows of the route table
chat.py     a conversation as a stream of events
"""
