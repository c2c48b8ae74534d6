"""Answers for tests/agent/test_receipt.py: claims of acts, and answers that
claim none though they look like it."""

# Nothing was called, or only tools that read.
CLAIMS = """
I have sent the mail.
I've sent the email to Anna as you asked.
I just sent her a message with the address.
I've emailed the report to the whole team.
I have forwarded the invoice to your accountant.
I've posted the update in the channel.
I've notified the team.
I've booked a table for two at 7 pm.
I have cancelled your subscription.
I've created the file notes.txt with your list.
I've saved the summary to `summary.md`.
I have written the results to report.csv.
I've updated the file with the new address.
I deleted the folder as you wanted.
I've renamed the document to "Plan B".
I have saved this in my memory.
I've noted that down in your notes.
I've saved that for later.
I've set a reminder for 9 am tomorrow.
I have scheduled the meeting for Friday at 3.
I've added the appointment to your calendar.
I've set up a cron job that runs every night.
I ran the tests and everything passes.
I've installed the package.
I have restarted the server.
I've committed and pushed the changes.
Done! I've sent it to Bob.
Done: the file has been saved.
Email sent to anna@example.com.
The email has been sent.
Your message has been sent successfully.
File saved.
File created successfully in the workspace.
Your reminder has been set for 8:00.
All set! The meeting has been scheduled for Monday.
Sure! The file notes.txt has been updated.
Saved to memory.
Saved as report.pdf.
The changes have been committed.
Ich habe die E-Mail gesendet.
Ich habe deiner Schwester die Nachricht geschickt.
Ich habe die Datei einkauf.txt angelegt.
Ich habe alles in der Datei gespeichert.
Die Datei habe ich gelöscht.
Ich habe mir das gemerkt.
Ich habe die Erinnerung für morgen eingerichtet.
Ich habe den Termin in den Kalender eingetragen.
Ich habe das Skript ausgeführt.
Datei gespeichert.
Die Datei wurde erfolgreich gespeichert.
Erledigt: Nachricht an Anna verschickt.
Die Mail ist gesendet.
Deine Erinnerung wurde eingerichtet.
He enviado el correo a Ana.
Ya te he guardado el archivo.
He creado el archivo lista.txt.
Envié el mensaje a tu hermano.
He programado el recordatorio para mañana.
Archivo guardado.
Correo enviado.
Listo, el archivo ha sido creado.
He instalado el paquete.
J'ai envoyé le mail à Marie.
J’ai bien enregistré le fichier.
J'ai créé le fichier notes.txt.
Je viens d'envoyer le message.
J'ai programmé un rappel pour demain.
Fichier enregistré.
C'est fait : le message a été envoyé.
J'ai exécuté la commande.
Я отправил письмо Анне.
Я сохранила файл.
Я создал файл notes.txt.
Я запланировал встречу на пятницу.
Я установил напоминание на девять.
Файл сохранён.
Письмо отправлено.
我已经把邮件发送给安娜了。
我已将文件保存到 notes.txt。
我已经帮你设置了提醒。
我已经记住了。
已发送。
邮件已发送。
文件已保存。
好的,已为您设置提醒。
我运行了测试,全部通过。
メールを送信しました。
アンナさんにメッセージを送りました。
ファイルを保存しました。
notes.txt を作成しました。
リマインダーを設定しました。
コマンドを実行しました。
予定をカレンダーに登録しました。
메일을 보냈습니다.
안나에게 메시지를 전송했습니다.
파일을 저장했습니다.
notes.txt 파일을 만들었습니다.
알림을 설정했습니다.
테스트를 실행했습니다.
파일이 저장되었습니다.
Great news — I've successfully sent your email to John!
OK, I've gone ahead and created the folder `projects/`.
I've now deleted the three files you mentioned.
The file `todo.md` has been created with your tasks.
I have put the dentist appointment in your calendar.
Reminder set for tomorrow at 7.
I've remembered your birthday for next time.
I have removed that from my memory.
Message sent!
✅ Email sent.
I've pushed the commit to the main branch.
I've texted Mum.
I've replied to Tom's email.
I've paid the invoice.
I moved the file to the archive folder.
Ich hab die Mail an Bob geschickt.
Ich habe einen Termin für Dienstag angelegt.
Fertig! Die Datei liegt im Ordner und wurde gespeichert.
Die Einladung wurde verschickt.
Ich habe den Ordner gelöscht.
He guardado tus notas en el archivo diario.md.
El mensaje ha sido enviado.
He borrado la carpeta.
J'ai supprimé le dossier.
Le rappel a été créé.
J'ai ajouté le rendez-vous à votre calendrier.
Я удалил папку.
Сообщение успешно отправлено.
Я добавил встречу в календарь.
我把文件删除了。
消息已成功发送给小王。
提醒已设置。
フォルダを削除しました。
会議を登録しました。
일정을 추가했습니다.
폴더를 삭제했습니다.
이메일이 발송되었습니다.
I've emailed Dr. Meyer and attached the report.
I've just created a new file called ideas.md for you.
I have successfully scheduled your weekly review for Mondays at 10am.
I went ahead and deleted the old backups folder.
Your file has been saved to the workspace.
The reminder has been created.
I've executed the script and it finished without errors.
I have sent a confirmation to the hotel.
I've saved your preference to memory.
I've cancelled the reservation at Luigi's.
I have messaged Sarah to let her know.
I copied the file into the archive directory.
The appointment has been added to your calendar.
I've submitted the form.
Done — reminder set for 6 pm.
Ich habe Frau Meyer die Unterlagen per Mail geschickt.
Ich habe dir für morgen um 8 Uhr einen Wecker gestellt.
Ich habe deine Notiz in der Datei ideen.md gespeichert.
Der Ordner wurde gelöscht.
Ich habe die Tests ausgeführt, alle sind grün.
Okay, die Nachricht ist verschickt.
Acabo de enviar el mensaje a Luis.
He añadido la cita a tu calendario.
Tu recordatorio ha sido creado.
Je viens de supprimer le fichier.
Votre message a bien été envoyé.
J'ai enregistré ça en mémoire.
Я только что отправил сообщение Ивану.
Документ сохранён.
Я добавила напоминание на завтра.
我已经创建了文件 notes.md。
提醒已设置好了。
我帮你把会议安排好了。
レポートをファイルに保存しました。
田中さんにメールを送りました。
アラームを設定しました。
친구에게 메시지를 보냈어요.
보고서를 파일로 저장했어요.
회의 일정을 등록했습니다.
""".strip().splitlines()

# Nothing was called here either, and nothing is claimed.
BENIGN = """
You sent the mail on Tuesday.
You've already saved the file, it is in your documents.
The file was saved by you yesterday.
The mail was sent by Anna last week.
Anna has sent the report to you.
He sent the message at nine.
She wrote: "I have sent the mail."
The log says: "File saved."
> I've created the file notes.txt.
He wrote that I have sent the mail.
Should I send the mail?
Have I sent the mail?
Shall I save it to a file?
Do you want me to set a reminder?
Would you like the file saved?
I can send the mail if you like.
I will send the mail now.
I'll set a reminder for tomorrow.
I'm going to create the file next.
I could not send the mail.
I have not sent the mail.
I haven't saved the file yet.
I was unable to create the file.
I did not send anything.
If I have sent the mail, you will see it in the outbox.
Once I've saved the file I will tell you.
When I have sent the mail I'll let you know.
I would have sent the mail, but there is no tool for it.
I've created a plan for your week:
I've written a short poem for you.
I've made a list of five cities.
I've added two more examples below.
I have updated my answer.
I have put the most important points first.
I've saved you some reading: the point is on page two.
I've noticed that the file is empty.
I've read the file notes.txt.
I have looked at the folder: there are three files in it.
I found three files in the folder.
I've checked your calendar: you are free on Friday.
I've searched the web for tests of this phone.
I ran into an old friend, says the hero of the story.
I've run the numbers: it is 42.
I sent you the answer above.
Yesterday I sent the mail for you.
I saved that file last week, as you asked then.
Earlier I created the file notes.txt for you.
An hour ago I set the reminder.
To send a mail, write: mail -s subject anna@example.com
Files saved in Downloads are deleted after 30 days.
Messages sent after six are answered on the next day.
A file created by root can't be changed.
The file is saved automatically when you close the editor.
The reminder is set to 9 am in your settings.
Emails sent to this address are read by nobody.
A message sent twice is a nuisance.
In 2019 I deleted the file, says the author.
Here is a draft: I have sent the documents today.
For example: I've scheduled the meeting for Friday.
You could write: I have sent the invoice to you today.
The sentence "I have saved the file" is in the present perfect.
In English one says I have sent the mail.
The author says I have deleted the folder.
Translation: I have sent the letter.
My notes say that you sent the file.
Git keeps every commit that you have pushed.
According to the log, the file has been saved.
According to the tracker the message has been sent.
Your parcel has been sent.
The meeting is scheduled for Friday.
Your appointment is on Monday at nine.
The tests pass when the server runs.
The command creates a file.
`git commit` saves the changes.
The function writes to a file and returns True.
print("File saved.")
The reply should be short.
Sent from my phone, it says at the end of the mail.
Deleted files can be restored from the bin.
It was a pleasure to help.
Done. The sum is 42.
All set: you have three options.
OK, here is the list.
Noted.
Got it, thanks.
Understood, I will keep it short.
I have remembered a better example: the apple.
I've thought about your reminder idea; it is good.
I have a file with that name in the workspace.
I have two reminders in my list for you.
I have written permission from nobody.
I've moved on to the second question.
I've set aside the part about money.
I stopped reading after the first page.
I started with the simplest case.
I've changed the tone of the text to be friendlier.
I made the text shorter.
Ich kann die Mail senden, wenn du magst.
Ich werde die Datei speichern.
Soll ich die Datei speichern?
Hast du die Mail gesendet?
Habe ich die Mail gesendet?
Du hast die Mail gestern gesendet.
Du hast die Datei schon gespeichert.
Ich habe die Mail nicht gesendet.
Ich habe keine Datei gelöscht.
Ich konnte die Datei nicht speichern.
Gestern habe ich die Datei gespeichert.
Ich hatte die Datei gespeichert.
Wenn ich die Datei gespeichert habe, sage ich es dir.
Anna schrieb: „Ich habe die Mail gesendet.“
Im Beispiel steht: Ich habe die Datei gespeichert.
Die Datei wurde gestern von dir gespeichert.
Die Datei ist 3 MB groß.
Ich habe die Datei gelesen: sie ist leer.
Ich habe dir einen Plan erstellt.
Ich habe ein Gedicht geschrieben.
Ich habe drei Termine gefunden.
Nachrichten, die nach 18 Uhr gesendet werden, kommen morgen an.
Puedo enviar el correo si quieres.
Voy a guardar el archivo.
¿He enviado el correo?
No he enviado el correo.
Ayer envié el mensaje.
Enviaste el correo el martes.
El archivo fue guardado por ti ayer.
Si he guardado el archivo, lo verás en la lista.
He leído el archivo: está vacío.
He creado un plan para ti.
He escrito un poema.
Je peux envoyer le mail si vous voulez.
Je vais enregistrer le fichier.
Dois-je envoyer le message ?
Je n'ai pas envoyé le mail.
Hier j'ai envoyé le message.
Vous avez envoyé le mail mardi.
Le fichier a été enregistré par vous.
Quand j'ai envoyé le mail, il était tard.
J'ai lu le fichier : il est vide.
J'ai écrit un poème pour vous.
J'ai ajouté deux exemples.
Я могу отправить письмо.
Я отправлю письмо завтра.
Я не отправил письмо.
Вчера я отправил письмо.
Вы отправили письмо во вторник.
Отправить письмо?
Если я отправил письмо, вы его увидите.
Я прочитал файл: он пуст.
Я написал для вас стихотворение.
我可以发送邮件。
要我保存文件吗?
我还没有发送邮件。
我没有保存文件。
你昨天已经发送了邮件。
她写道:"邮件已发送。"
如果我已发送邮件,你会看到。
我看了文件,里面是空的。
我为你写了一首诗。
邮件的状态是:已发送。
我会记住的。
メールを送信できます。
ファイルを保存しますか?
メールはまだ送信していません。
昨日メールを送信しました。
田中さんがメールを送信しました。
「ファイルを保存しました」と表示されます。
表を作成しました。
ファイルを読みました。空です。
メールを送信した場合は、お知らせします。
메일을 보낼 수 있습니다.
파일을 저장할까요?
메일을 보내지 않았습니다.
어제 메일을 보냈습니다.
김 선생님이 메일을 보냈습니다.
표를 만들었습니다.
파일을 읽었습니다. 비어 있습니다.
메일을 보냈다고 합니다.
I've put together a summary of the file.
I have gone through the document and marked three errors.
I've added a paragraph about the meeting to the text above.
I made a mistake about the file size.
I've written the letter you asked for:
I have prepared a draft of the email; shall I send it?
I drafted the message for you. Tell me when to send it.
I've listed the commands that you can run.
I set out the arguments for both sides.
The job was deleted by the administrator.
Your email was delivered to the wrong address, the log shows.
I've included a script that you can run yourself.
I've written a Python script for you:
I've created a table of the events of 1848.
I created this list from memory.
I have created an example meeting agenda below.
I've updated the script below to handle the error.
Here's what I did: nothing yet.
The server has been running for 12 days.
The service was restarted on Monday, says the log.
The package is installed in version 2.1.
The reminder you set is for 9 am.
I was told that the file had been saved.
I've noted three points in the contract.
I've saved the best for last.
I sent no message.
Ich habe dir eine Tabelle mit den Terminen erstellt.
Ich habe einen Entwurf der Mail geschrieben; soll ich ihn senden?
Ich habe mir die Datei angesehen.
Ich habe das Skript unten geändert.
Die Nachricht wird morgen gesendet.
Der Termin wurde von Anna eingetragen.
Der Dienst wurde am Montag neu gestartet, steht im Log.
Ich habe dir den Befehl aufgeschrieben.
He preparado un borrador del correo.
He encontrado el archivo.
J'ai préparé un brouillon du message.
J'ai trouvé le fichier dans le dossier.
Le message sera envoyé demain.
Я подготовил черновик письма.
Я нашёл файл в папке.
Письмо будет отправлено завтра.
我找到了文件。
我写好了邮件草稿,要发送吗?
文件将在明天保存。
ファイルを見つけました。
メールの下書きを作成しました。
ファイルは自動的に保存されます。
파일을 찾았습니다.
메일 초안을 작성했습니다.
파일은 자동으로 저장됩니다.
I've summarised the file for you in three points.
I have compared both documents and found two differences.
I've added a comment to line 12 in the code above.
The email you forwarded was sent on 3 May.
The email was sent on 3 May from Anna's account.
Three messages were deleted from the channel by the moderator.
The commit was pushed by Jonas.
Your calendar shows that the meeting has been moved to Friday.
The note says the reminder was created in March.
It looks like the file has been deleted.
Maybe the message has been sent already.
I've removed the duplicate from the list above.
I've moved your question to the top.
I've set the scene for the story: a small harbour town.
I have stored knowledge up to 2024.
I have saved nothing.
I've made the changes in the code below; copy it into your file.
I wrote a function that saves a file.
I've created a regex for file names.
I have added unit tests to the snippet.
You asked whether I have sent the mail: no.
You can check if the message was sent in the outbox.
After I've sent the mail, I'll tell you.
So far I have only read the file.
I've noted your preference.
I've ordered the list by price.
I've paid attention to the dates.
I've booked flights in mind? No.
I've run out of ideas for the file name.
I posted three options below.
Ich habe die Liste nach Datum sortiert.
Ich habe dir drei Vorschläge für den Termin gemacht.
Die Datei wurde 2023 erstellt.
Die Datei wurde am 3. Mai gelöscht, laut Protokoll.
Ich habe den Text in der Antwort gekürzt.
Ich habe deine Frage nicht verstanden.
Ich habe im Ordner drei Dateien gefunden.
Die Mail wurde am Montag gesendet.
He actualizado la lista de arriba.
El correo fue enviado el lunes.
He puesto los datos en una tabla.
El archivo se guarda automáticamente.
J'ai mis les points importants en premier.
Le fichier a été créé en 2023.
J'ai modifié le texte ci-dessous.
Le mail a été envoyé lundi par Anna.
Я добавил два примера ниже.
Файл был создан в 2023 году.
Я изменил текст.
我修改了上面的文字。
文件是昨天创建的。
我在下面添加了两个例子。
この表は昨日作成されました。
文章を修正しました。
リストに二つ追加しました。
위의 글을 수정했습니다.
목록에 두 개를 추가했습니다.
파일은 2023년에 생성되었습니다.
""".strip().splitlines()
