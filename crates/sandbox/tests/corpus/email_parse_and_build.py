"""email: parse a multipart message, decode headers, build a reply."""
from email import message_from_string, policy
from email.message import EmailMessage
from email.utils import formataddr, getaddresses, parseaddr, parsedate_to_datetime

RAW = """\
From: =?utf-8?q?J=C3=B6rg_Smith?= <joerg@example.org>
To: "Lee, Ann" <ann@example.org>, team@example.org
Subject: Quarterly
 numbers =?utf-8?b?4oKs?=
Date: Tue, 05 Mar 2024 14:30:00 +0200
X-Tag: one
X-Tag: two
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BB"

preamble is ignored
--BB
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: quoted-printable

Caf=C3=A9 total =3D 10=
0 units
--BB
Content-Type: text/csv; name="data.csv"
Content-Disposition: attachment; filename="data.csv"
Content-Transfer-Encoding: base64

YSxiCjEsMgo=
--BB--
"""

message = message_from_string(RAW, policy=policy.default)
print(ascii(str(message["subject"])), message["date"].datetime.isoformat())
print([(ascii(a.display_name), a.username, a.domain) for a in message["from"].addresses + message["to"].addresses])
print(message.get_all("x-tag"), "X-TAG" in message, message["missing"], message.get_content_type(), message.is_multipart())
body = message.get_body(preferencelist=("plain",))
print(ascii(body.get_content()), body.get_content_charset())
for part in message.iter_attachments():
    print(part.get_filename(), part.get_content_type(), part.get_payload(decode=True), part.get_params()[1:])
print([part.get_content_type() for part in message.walk()])

reply = EmailMessage()
reply["To"] = message["from"]
reply["From"] = formataddr(("Bot, Report", "bot@example.org"))
reply["Subject"] = "Re: " + message["subject"].replace("\u20ac", "EUR")
reply.set_content("Thanks!\n\nTotals attached.\n")
reply.add_alternative("<p>Thanks!</p>", subtype="html")
reply.add_attachment(b"\x00\x01", maintype="application", subtype="octet-stream", filename="x.bin")
print(reply["from"], "|", reply["subject"], "|", reply.get_content_type())
print([p.get_content_type() for p in reply.walk()], reply.get_body(("html",)).get_content().strip())
reply.set_boundary("ZZ")
again = message_from_string(reply.as_string(), policy=policy.default)
print(again["to"].addresses[0].addr_spec, [len(p.get_payload(decode=True)) for p in again.walk() if not p.is_multipart()])
del reply["subject"]
try:
    reply["To"] = "second@example.org"
except ValueError:
    print("only one To allowed;", reply["subject"])
print(parseaddr("Ann <ann@x.org>"), getaddresses(["a@x.org, B <b@y.org>"]), parsedate_to_datetime("Mon, 01 Jan 2024 00:00:00 -0000").tzinfo)
