"""Claims in English, German, Spanish, French and Russian."""

from claw.agent.receipt.language import (
    COMMAND,
    FILE,
    GAP,
    MEMORY,
    SCHEDULE,
    SEND,
    Language,
)

_FILES_EN = (r"\b(?:files?|folder|directory|document|spreadsheet|pdf|csv|"
             r"disk|FILE)\b")
_PLANS_EN = (r"\b(?:reminders?|alarm|timer|job|task|cron|event|appointment|"
             r"meeting|calendar)\b")
_RUN_EN = (r"\b(?:commands?|scripts?|tests?|packages?|services?|server|"
           r"commits?|changes|branch|repo(?:sitory)?|containers?|build|"
           r"dependencies|migrations?|CODE|FILE)\b")
_DONE_EN = (r"(?:(?:all )?(?:done|set)|ok(?:ay)?|sure|great|success|perfect)?"
            r"[\s,!.:—–✅-]*")

ENGLISH = Language(
    r"\bI(?:['’]ve| have)?(?: (?:just|now|also|then|successfully|"
    r"gone ahead and|went ahead and))*",
    ((SEND, r" (?:sent|e-?mailed|forwarded|posted|replied to|notified|texted|"
            r"messaged|submitted)\b", ""),
     (SEND, r" (?:booked|ordered|purchased|bought|paid|cancell?ed|transferred"
            r")\b", r"\b(?:tables?|flights?|tickets?|hotel|room|order|invoice"
                    r"|bill|subscription|money|booking|reservation|seats?)\b"),
     (FILE, r" (?:saved|written|wrote|created|made|updated|edited|deleted|"
            r"removed|renamed|moved|copied|overwritten|overwrote|appended|"
            r"exported|downloaded|added|put|stored|changed|modified)\b",
      _FILES_EN),
     (f"{MEMORY} {FILE}",
      r" (?:saved|stored|noted|recorded|memori[sz]ed|remembered|added|put|"
      r"committed|written|wrote)\b",
      r"\b(?:memory|(?:your|the|my) notes?|for (?:next|later|future))\b"),
     (MEMORY, r" (?:forgotten|deleted|removed|erased)\b",
      r"\b(?:memory|memories)\b"),
     (SCHEDULE, r" (?:re)?scheduled\b", ""),
     (SCHEDULE, r" (?:set(?: up)?|created|added|made|arranged|"
                r"rescheduled|moved|put|deleted|removed|cancell?ed)\b",
      _PLANS_EN),
     (COMMAND, r" (?:(?:run|ran)(?! out| into)|executed|installed|"
               r"restarted|started|stopped|committed|pushed|pulled|merged|"
               r"deployed|rebooted|rebuilt|upgraded|uninstalled)\b", _RUN_EN)),
    ((SEND, _DONE_EN + r"(?:(?:the|your|an?) )?(?:e-?mail|mail|message|reply|"
            r"invit(?:e|ation)|notification)(?:@){0,5}?"
            r"(?: (?:has been|have been|is now|was successfully))?"
            r"(?: successfully)? (?:sent|delivered|posted|forwarded)\b"),
     (FILE, _DONE_EN + r"(?:(?:the|your|an?) )?(?:file|folder|document|"
            r"script|spreadsheet|FILE)(?:@){0,4}?"
            r"(?: (?:has been|have been|is now|was successfully))?"
            r"(?: successfully)? (?:saved|written|created|updated|deleted|"
            r"removed|renamed|moved|copied|stored)\b"),
     (f"{MEMORY} {FILE}", _DONE_EN + r"(?:saved|stored|written) to (?:my |the "
            r")?memory\b"),
     (FILE, _DONE_EN + r"(?:saved|written|exported) (?:\S+ ){0,3}?"
            r"(?:to|as|in) (?:the file )?FILE\b"),
     (SCHEDULE, _DONE_EN + r"(?:(?:the|your|an?) )?(?:reminder|alarm|event|"
            r"appointment|meeting|job|timer)(?:@){0,5}?"
            r"(?: (?:has been|have been|is now|was successfully))?"
            r"(?: successfully)? (?:set|scheduled|created|added|saved)\b"),
     (COMMAND, _DONE_EN + r"(?:(?:the|your|all) )?(?:command|package|changes|"
            r"service|server)(?:@){0,4}? (?:has been|have been|was "
            r"successfully|were successfully|successfully) (?:run|executed|"
            r"installed|committed|pushed|deployed|restarted)\b")),
    r"\b(?:yesterday|last (?:\w+)|ago|earlier|previously|in (?:19|20)[01]\d|"
    r"above|below|"
    r"this morning|back then|by (?:you|him|her|them|(?-i:[A-Z])\w+)|"
    r"(?:sent|saved|set|deleted|created) (?:no|nothing|none)|never|not|"
    r"years?|as an example|for example)\b|n['’]t\b",
    r"\b(?:if|unless|whether|would|could|should|might|until|once|when|after|"
    r"before|as soon as|like|says?|said|told|wrote|writes|reads|claims?|"
    r"claimed|pretend|suppose|imagine|assume|according|e\.g|example|template|"
    r"draft|means?|translat\w+|thought|think|that|what|who|because|the \w+ I|"
    r"everything I|are|is|was|were)\b")

_FILES_DE = (r"(?:\bdatei\w*|\bordner|\bverzeichnis|dokument\b|\btabelle als|"
             r"\bFILE\b)")
_PLANS_DE = (r"(?:\berinnerung\w*|\bwecker|\btimer|\btermin\w*|\bkalender|"
             r"\bcron\w*|\baufgabe\w*)")
_SENT_DE = (
    r"(?:gesendet|verschickt|geschickt|abgeschickt|versandt|versendet|"
    r"weitergeleitet|gemailt|gepostet|benachrichtigt)\b")
_SAVED_DE = (
    r"(?:gespeichert|geschrieben|erstellt|angelegt|gelöscht|"
    r"verschoben|kopiert|umbenannt|geändert|aktualisiert|bearbeitet|"
    r"abgelegt|überschrieben|ergänzt|exportiert|entfernt)\b")
_PLANNED_DE = (
    r"(?:eingerichtet|eingetragen|gestellt|geplant|angelegt|"
    r"erstellt|gesetzt|hinzugefügt|gelöscht|verschoben|gespeichert)\b")
_RAN_DE = (
    r"(?:ausgeführt|installiert|neu gestartet|neugestartet|gestartet|"
    r"gestoppt|committet|gepusht|eingespielt|deployt|aktualisiert)\b")
_DONE_DE = (
    r"(?:(?:erledigt|fertig|ok(?:ay)?|gut|gern|"
    r"alles klar)[\s,!.:–—✅-]+)?")
GERMAN = Language(
    r"\b(?:ich hab(?:e)?|hab(?:e)? ich)\b" + GAP,
    ((SEND, _SENT_DE, ""),
     (FILE, _SAVED_DE, _FILES_DE),
     (f"{MEMORY} {FILE}", r"(?:gespeichert|notiert|gemerkt|abgelegt)\b",
      r"(?:\bmir\b|\bgedächtnis|\berinnerungen\b|\bnotiz)"),
     (SCHEDULE, _PLANNED_DE, _PLANS_DE),
     (COMMAND, _RAN_DE, r"(?:\bbefehl|\bskript|\btests?\b|\bpaket|\bdienst|"
      r"\bserver|\bänderungen|\bcommit|\bFILE\b|\bCODE\b)")),
    ((SEND, _DONE_DE + r"(?:(?:die|deine|ihre|eine) )?(?:e-?mail|mail|"
      r"nachricht|antwort|einladung)(?:@){0,5}?(?: (?:wurde|ist))?"
      r"(?: (?:jetzt|nun|erfolgreich))? " + _SENT_DE),
     (FILE, _DONE_DE + r"(?:(?:die|der|das|deine?|ihre?) )?(?:datei|ordner|"
      r"dokument|FILE)(?:@){0,4}?(?: (?:wurde|ist))?"
      r"(?: (?:jetzt|nun|erfolgreich))? " + _SAVED_DE),
     (SCHEDULE, _DONE_DE + r"(?:(?:die|der|deine?|ihre?) )?(?:erinnerung|"
      r"termin|wecker|timer)(?:@){0,5}?(?: (?:wurde|ist))?"
      r"(?: (?:jetzt|nun|erfolgreich))? " + _PLANNED_DE),
     (COMMAND, _DONE_DE + r"(?:(?:der|das|die|alle) )?(?:befehl|paket|"
      r"änderungen|dienst)(?:@){0,4}? (?:wurden?|ist|sind)"
      r"(?: (?:jetzt|nun|erfolgreich))? " + _RAN_DE)),
    r"\b(?:gestern|vorgestern|vorhin|letzte[nrsm]?|früher|damals|vor \w+ "
    r"(?:\w+ )?(?:tagen?|wochen?|monat(?:en)?|jahren?|stunden?)|nichts?|"
    r"kein\w*|nie|von (?:dir|ihnen|ihm|ihr|"
    r"(?-i:[A-ZÄÖÜ])\w+)|heute morgen|hatte|zum beispiel|werden)\b",
    r"\b(?:wenn|falls|sobald|ob|würde|könnte|sagt\w*|schrieb\w*|schreibt|"
    r"lautet|laut|beispiel|vorlage|entwurf|dass|was|weil|nachdem|bis)\b",
    "|".join((_SENT_DE, _SAVED_DE, _PLANNED_DE, _RAN_DE, "notiert",
              "gemerkt")))

_FILES_ES = r"(?:\barchivos?\b|\bcarpeta|\bdocumento|\bfichero|\bFILE\b)"
_PLANS_ES = (r"(?:\brecordatorio|\balarma|\bevento|\bcita\b|\breunión|"
             r"\bcalendario|\btarea)")
_SENT_ES = r"(?:enviad|mandad|reenviad|publicad|notificad)[oa]s?\b"
_SAVED_ES = (
    r"(?:guardad|cread|escrit|eliminad|borrad|actualizad|movid|copiad|"
    r"renombrad|modificad|editad)[oa]s?\b")
_PLANNED_ES = (
    r"(?:programad|cread|añadid|agregad|establecid|configurad|"
    r"puest|agendad)[oa]s?\b")
_RAN_ES = r"(?:ejecutad|instalad|reiniciad|iniciad|detenid|desplegad)[oa]s?\b"
_DONE_ES = r"(?:(?:listo|hecho|perfecto|de acuerdo|claro|ok)[\s,!.:–—✅¡-]+)?"
_AUX_ES = r"(?: (?:ha sido|han sido|se ha|fue|ya está))?(?: correctamente)? "
SPANISH = Language(
    "",
    ((SEND, r"\bhe (?:\w+ ){0,2}?" + _SENT_ES, ""),
     (SEND, r"\b(?:envié|mandé|acabo de (?:enviar|mandar))", ""),
     (FILE, r"(?:\bhe (?:\w+ ){0,2}?" + _SAVED_ES + r"|\b(?:guardé|creé|"
      r"escribí|eliminé|borré|actualicé|moví)(?!\w)|\bacabo de (?:guardar|"
      r"crear|borrar|eliminar))", _FILES_ES),
     (f"{MEMORY} {FILE}", r"\bhe (?:\w+ ){0,2}?(?:guardad|anotad|apuntad)[oa]",
      r"\b(?:memoria|nota)"),
     (SCHEDULE, r"(?:\bhe (?:\w+ ){0,2}?" + _PLANNED_ES + r"|\b(?:programé|"
      r"agendé)(?!\w))", _PLANS_ES),
     (COMMAND, r"(?:\bhe (?:\w+ ){0,2}?" + _RAN_ES + r"|\b(?:ejecuté|instalé|"
      r"reinicié)(?!\w))", r"\b(?:comando|script|prueba|paquete|servicio|"
      r"servidor|FILE|CODE)")),
    ((SEND, _DONE_ES + r"(?:(?:el|la|tu|su|un) )?(?:correo|mensaje|e-?mail|"
      r"respuesta|invitación)(?:@){0,4}?" + _AUX_ES + _SENT_ES),
     (FILE, _DONE_ES + r"(?:(?:el|la|tu|su) )?(?:archivo|carpeta|documento|"
      r"FILE)(?:@){0,3}?" + _AUX_ES + _SAVED_ES),
     (SCHEDULE, _DONE_ES + r"(?:(?:el|la|tu|su) )?(?:recordatorio|alarma|"
      r"evento|cita|reunión)(?:@){0,4}?" + _AUX_ES + _PLANNED_ES)),
    r"\b(?:ayer|anoche|hace (?:un|una|dos|tres|\d+|unos)|pasad[oa]|antes|"
    r"por (?:ti|usted|él|ella)|(?:fue|fueron|sido) \w+ por "
    r"(?-i:[A-ZÁÉÍÓÚÑ])\w+|ejemplo|no|nunca|había)\b",
    r"\b(?:si|cuando|dice|dijo|dijiste|escribió|según|ejemplo|borrador|"
    r"plantilla|que|aunque|una vez)\b",
    r"[ai]d[oa]s?\b|é\b|\bacabo\b|escrit|puest")

_FILES_FR = r"(?:\bfichier|\bdossier|\bdocument\b|\bscript|\bFILE\b)"
_PLANS_FR = (r"(?:\brappel|\balarme|\bévénement|\brendez-vous|\bréunion|"
             r"\bcalendrier|\bagenda|\btâche)")
_SENT_FR = r"(?:envoyé|transmis|transféré|publié|posté|expédié)e?s?\b"
_SAVED_FR = (r"(?:enregistré|sauvegardé|créé|écrit|supprimé|modifié|déplacé|"
             r"copié|renommé|effacé|mis à jour)e?s?\b")
_PLANNED_FR = r"(?:programmé|planifié|créé|ajouté|mis|réglé|défini|fixé)e?s?\b"
_RAN_FR = r"(?:exécuté|installé|redémarré|lancé|démarré|arrêté|déployé)e?s?\b"
_DONE_FR = (
    r"(?:(?:c['’]est fait|voilà|fait|parfait|d['’]accord|"
    r"ok)[\s,!.:–—✅-]+)?")
_AUX_FR = r"(?: (?:a été|ont été|est maintenant|est bien))?(?: bien)? "
FRENCH = Language(
    r"\b(?:je (?:vous |te |t['’]|l['’]|les |lui )?(?:l['’])?ai|j['’](?:y )?ai|"
    r"je viens d(?:e |['’]))" + GAP,
    ((SEND, r"\b(?:" + _SENT_FR + r"|envoyer\b|transmettre\b)", ""),
     (FILE, r"\b(?:" + _SAVED_FR + r"|enregistrer\b|créer\b|supprimer\b)",
      _FILES_FR),
     (f"{MEMORY} {FILE}", r"\b(?:noté|enregistré|mémorisé)e?s?\b",
      r"\b(?:mémoire|note\b)"),
     (SCHEDULE, r"\b" + _PLANNED_FR, _PLANS_FR),
     (COMMAND, r"\b" + _RAN_FR, r"\b(?:commande|script|tests?\b|paquet|"
      r"service|serveur|FILE|CODE)")),
    ((SEND, _DONE_FR + r"(?:(?:le|la|votre|ton|ta|un|l['’]) ?)?(?:e-?mail|"
      r"mail|courriel|message|réponse|invitation)(?:@){0,4}?" + _AUX_FR
      + _SENT_FR),
     (FILE, _DONE_FR + r"(?:(?:le|la|votre|ton) )?(?:fichier|dossier|"
      r"document|FILE)(?:@){0,3}?" + _AUX_FR + _SAVED_FR),
     (SCHEDULE, _DONE_FR + r"(?:(?:le|la|votre|ton|l['’]) ?)?(?:rappel|"
      r"alarme|rendez-vous|réunion|événement)(?:@){0,4}?" + _AUX_FR
      + _PLANNED_FR)),
    r"\b(?:hier|avant-hier|dernier|dernière|il y a|auparavant|autrefois|"
    r"par (?:vous|toi|lui|elle)|été \w+ par (?-i:[A-ZÀÂÉÈÎÔ])\w+|exemple|pas|"
    r"jamais|avais)\b",
    r"\b(?:si|quand|lorsque|dès que|dit|disait|écrit|écrivait|selon|exemple|"
    r"modèle|brouillon|que|qu['’]|parce|après)\b",
    r"é(?:e|s|es)?\b|\bje\b|transmis|écrit")

_SENT_RU = r"(?:отправил|переслал|послал|опубликовал|уведомил)а?\b"
_SAVED_RU = (r"(?:сохранил|создал|записал|удалил|переместил|скопировал|"
             r"переименовал|изменил|обновил)а?\b")
RUSSIAN = Language(
    r"\bя\b(?: (?:уже|только что|успешно|также|вам|тебе|его|её|их|это))*",
    ((SEND, " " + _SENT_RU, ""),
     (FILE, " " + _SAVED_RU, r"(?:\bфайл|\bпапк|\bдокумент|\bскрипт|FILE)"),
     (f"{MEMORY} {FILE}", r" (?:запомнил|сохранил|записал)а?\b",
      r"(?:\bпамят|\bзаметк)"),
     (SCHEDULE, r" (?:запланировал|создал|добавил|установил|поставил|"
      r"настроил|назначил)а?\b",
      r"(?:\bнапоминани|\bбудильник|\bвстреч|\bсобыти|\bкалендар|\bзадач)"),
     (COMMAND, r" (?:запустил|выполнил|установил|перезапустил|остановил)а?\b",
      r"(?:\bкоманд|\bскрипт|\bтест|\bпакет|\bсервис|\bсервер|FILE|CODE)")),
    ((SEND, r"(?:готово[\s,!.:–—✅-]+)?(?:ваше |твоё |твое )?(?:письмо|"
      r"сообщение|ответ|приглашение)(?:@){0,3}? (?:успешно |было )?"
      r"отправлен[оа]?\b"),
     (FILE, r"(?:готово[\s,!.:–—✅-]+)?(?:файл|документ|папка|FILE)"
      r"(?:@){0,3}? (?:успешно |был[а]? )?(?:сохран[её]н|создан|удал[её]н|"
      r"обновл[её]н|записан)[ао]?\b"),
     (SCHEDULE, r"(?:готово[\s,!.:–—✅-]+)?(?:напоминание|встреча|событие|"
      r"будильник)(?:@){0,3}? (?:успешно |было )?(?:создан|установлен|"
      r"запланирован|добавлен|поставлен)[оа]?\b")),
    r"\b(?:вчера|позавчера|назад|ранее|раньше|прошл[ыаоу]\w+|не|никогда|вами|тобой|"
    r"бы|например)\b",
    r"\b(?:если|когда|как только|чтобы|сказал\w*|написал\w*|пишет|согласно|"
    r"пример\w*|шаблон|черновик|что|после того)\b", "[а-яА-Я]")
