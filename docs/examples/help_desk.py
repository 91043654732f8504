"""Write a small corpus: 20 topics of a help desk (topics.csv) and 300 tickets (tickets.jsonl).

All of it is invented. The tickets are put together by chance from parts of sentences, so the
figures of a model say nothing about real tickets; the files show what yours may look like.
"""

import csv
import json
import random

# Of each topic: name and synonyms; description; who or what; does what, in any combination.
TOPICS = """
Password reset: forgotten password, lost password
A password is forgotten or has expired and needs to be set anew.
My password; The password of our intern; My old passphrase
expired over the weekend; is no longer accepted; was forgotten during the holidays; must be
changed but the form rejects every new one

Account locked: locked out, blocked account
An account is blocked after failed attempts or by a policy and must be unlocked.
My account; The account of a colleague; The shared login of our team
is locked after three wrong attempts; was blocked this morning; says it is disabled; got locked
out again

Two-factor authentication: 2FA, MFA, one-time code
The second factor of a login, such as a one-time code or a token, does not arrive or is lost.
The one-time code; My authenticator app; The hardware token
never arrives; shows codes that are refused; was on the phone I lost; asks to be registered again

Permission request: access rights, read access
Someone asks for rights to a folder, a system or an application.
My deputy; Our new project lead; The whole audit group
cannot open the finance folder for lack of rights; should be allowed to edit the shared forms;
would like to see the ticket archive; must be able to approve orders

New employee: onboarding, starter
A person begins work and needs an account, a device and a desk.
A new colleague; Our trainee; The new developer
starts on Monday and needs a laptop; joins us next month without any login so far; begins tomorrow
and has no badge; arrives and needs the usual equipment

Leaving employee: offboarding, leaver
A person leaves: accounts are closed and devices returned.
A colleague; Our working student; The former team lead
leaves on Friday and returns the laptop; left and the mailbox should be closed; retires so please
take away all logins; hands over all files on the last day

VPN: remote access, tunnel
The encrypted connection from outside into the company network fails or is slow.
The VPN; The tunnel from home; The remote access client
drops every ten minutes; does not connect from the hotel; asks for a certificate; stays at
connecting forever

Wireless network: Wi-Fi, WLAN
Wireless reception in the building: weak signal, failing login, guests.
The Wi-Fi; The wireless signal; The guest WLAN
is gone in meeting room two; is very weak on the third floor; does not accept my device; loses its
signal all the time

Slow internet: bandwidth, slow connection
Pages and downloads are slow although the connection stands.
The internet; Every download; The video portal
is slow since noon; takes ages on all machines here; crawls whenever the backup runs; times out
half of the time

Printer: printing, paper jam
Printing and scanning: paper jams, toner, missing queues.
The printer on our floor; The label printer; The scanner
jams on every second page; prints blank sheets; is out of toner; is missing from the list of
devices

Monitor: screen, display
External screens flicker, stay dark or have the wrong resolution.
The second monitor; My external screen; The display in the lobby
stays dark; flickers all day; shows a wrong resolution; is not found after docking

Battery: charger, power supply
The battery of a laptop or phone does not hold or does not charge.
The battery of my laptop; The charger; The phone battery
is empty after one hour; does not charge any more; gets very hot; swells under the keyboard

Keyboard and mouse: input device, touchpad
Keys, mice and touchpads that fail or are wanted.
My keyboard; The wireless mouse; The touchpad
has two dead keys; does not react; types letters twice; jumps across the desk

Spam and phishing: junk mail, suspicious mail
Unwanted or fraudulent messages, and links in them that were opened.
A suspicious mail; A message from a false bank; Some phishing mail
asked me for my card number; came with a strange attachment; went to the whole department; had a
link that I opened

Virus: malware, ransomware
A device may be infected with malicious software.
The virus scanner; A strange program; My laptop
reports an infected file; encrypts documents by itself; opens windows that nobody asked for; found
a trojan in the download folder

Email delivery: bounced mail, missing mail
Messages do not arrive, bounce or are late.
A mail to a customer; The weekly newsletter; My reply with an offer
bounced with an error; never arrived; was delivered two days late; is stuck in the outbox

Mailbox full: quota, archive
The storage of a mailbox is used up, or old messages need an archive.
My mailbox; The mailbox of the front office; The archive
has reached its quota; is full and refuses new messages; needs more storage; cannot be compressed
any further

Calendar: meeting invitation, appointments
Meetings, invitations and rooms in the calendar.
The calendar; A meeting series; The room booking
shows meetings one hour late; cannot be moved; sends invitations twice; is not shared with my
deputy

Software installation: install program, setup
A program is to be installed or removed.
The statistics package; A drawing program; The new editor
needs to be installed; asks for administrator rights during setup; stops at half of the setup;
should be removed from my machine

Licence: subscription, activation
A licence has run out, is missing or is to be bought.
The licence of our drawing program; My subscription; The activation key
runs out next week; is said to be invalid; is used on too many machines; has to be bought for five
people
"""

BEFORE = ["", "", "Hello, ", "Dear team, ", "Urgent: ", "Good morning, ", "Hi all, "]
BETWEEN = ["Besides, ", "And ", "Also, ", "At the same time ", "Since then "]
PASSING = ["is fine, by the way.", "has never been a problem.", "is not what this is about."]
AFTER = """I restarted twice without success.|It worked fine last week.|Can someone look at it?
Three of us in the sales office see this.|I am in building B until four.|There is no hurry.
The customer is waiting for us.|A colleague told me to write to you.|I have attached a picture.
It began right after the update.|Please call me on my mobile.|I am working from home today.
We have a presentation on Thursday.|Nobody in accounting can work.|Is this known already?
I tried another cable and another port.|Thank you for your help.|My manager has agreed.
Last month you solved it within an hour.|It is the same on the old machine.""".replace("\n", "|")


def main(tickets: int = 300, seed: int = 1) -> None:
    """Write both files into the current folder."""
    draw = random.Random(seed)
    topics = [block.split("\n", 3) for block in TOPICS.strip().split("\n\n")]
    with open("topics.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["name", "description", "synonyms"])
        for heading, description, *_ in topics:
            name, synonyms = heading.split(": ")
            rows.writerow([name, description, synonyms.replace(", ", "|")])
    with open("tickets.jsonl", "w", encoding="utf-8") as file:
        for number in range(1, tickets + 1):
            # every topic has its turn; four tickets in ten have a second one
            first = topics[number % len(topics)]
            second = draw.choice(topics) if draw.random() < 0.4 else first
            names, text = [name_of(first)], behind(draw.choice(BEFORE), clause(first, draw))
            if second is not first:
                names.append(name_of(second))
                text += " " + behind(draw.choice(BETWEEN), clause(second, draw))
            if draw.random() < 0.4:  # a further topic is mentioned, and is none of the ticket's
                text += f" {who(draw.choice(topics), draw)} {draw.choice(PASSING)}"
            closing = " ".join(draw.sample(AFTER.split("|"), draw.randint(1, 3)))
            ticket = {"id": f"T{number}", "text": f"{text} {closing}", "topics": names}
            file.write(json.dumps(ticket) + "\n")

    texts = (
        "I have forgotten my password and cannot log in.",
        "The printer on the third floor jams, and my second monitor stays dark.",
        "A new colleague starts on Monday and needs an account.",
        "My fingerprint is no longer accepted as a login without a password.",
    )
    with open("texts.txt", "w", encoding="utf-8") as file:
        file.writelines(f"{text}\n" for text in texts)


def name_of(topic: list[str]) -> str:
    """Return the name of a topic."""
    return topic[0].split(":")[0]


def who(topic: list[str], draw: random.Random) -> str:
    """Return what a sentence on a topic is about."""
    return draw.choice(topic[2].split("; "))


def clause(topic: list[str], draw: random.Random) -> str:
    """Return a sentence on a topic."""
    what = draw.choice(topic[3].replace("\n", " ").split("; "))
    return f"{who(topic, draw)} {what}."


def behind(opening: str, sentence: str) -> str:
    """Return a sentence behind an opening, where its first word is no longer capitalised."""
    return opening + (sentence[0].lower() + sentence[1:] if opening else sentence)


if __name__ == "__main__":
    main()
