"""The page of explanations asks for no other file, and shows texts as texts."""

import re
from html.parser import HTMLParser

from gile_lightning.tracking.explanation_page import explanations_page
from gile_testing.explanations import EVIL, explanation


class Reader(HTMLParser):
    """Checks that tags are closed in order; keeps the text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "link", "img")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(" ".join(data.split()))


def test_page():
    page = explanations_page(EVIL, [explanation(gold=(f"L{EVIL}",)), explanation(labels=[])])
    assert "<b>\x9b" not in page
    assert page.count("&lt;b&gt;") >= 5
    assert "✓ a label of the document" in page
    assert "default-src 'none'" in page
    assert re.search(r'title="words \+1.50"[^>]*>Liver,</span>', page)
    assert "//" not in page
    texts = Reader(page).texts
    assert {"Liver,", EVIL.strip(), "prior", "-0.50", "+1.25", "unseen", "no label"} <= {*texts}
