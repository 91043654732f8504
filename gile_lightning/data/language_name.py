"""Names and codes of languages. A name becomes that of files and of modules."""

import re

import Stemmer
from torch import nn

from gile_lightning.common.errors import InputError

NAMES = {  # by ISO 639-1 code: languages that have a Snowball stemmer, or that DW has
    **{"ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german"},
    **{"el": "greek", "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian"},
    **{"eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish"},
    **{"hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian"},
    **{"lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish"},
    **{"pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho"},
    **{"sv": "swedish", "ta": "tamil", "tr": "turkish", "uk": "ukrainian", "yi": "yiddish"},
}
AUTO = "auto"  # the stemmer of the texts' language
_ELIDING = {"ca", "fr", "ga", "it"}
_CODES = {name: code for code, name in NAMES.items()}
_NAME = re.compile(r"\w([\w ()-]*[\w)])?")
_LONGEST = 50  # with four bytes for each character, a file system still takes it
# what Windows opens as a device, in whatever folder
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{x}{i}" for x in ("com", "lpt") for i in range(10)}
_MODULES = nn.ModuleDict()


def check_language(name: str) -> None:
    """Refuse a name that cannot be that of a file or of a module on every system.

    Raises:
        InputError: it has other signs than letters, digits, spaces, brackets, ``_`` and ``-``, is
            longer than 50 characters, or has another meaning for Windows or PyTorch.
    """
    if not isinstance(name, str):
        raise InputError(f"{name!r} cannot be the name of a language: put it in quotes, as in YAML")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        why = (
            f"give a name of up to {_LONGEST} letters and digits, with spaces, '_', '-' and "
            "brackets between them"
        )
    elif name.lower() in _DEVICES:
        why = "Windows keeps this name for a device; give another"
    elif hasattr(_MODULES, name):
        why = "PyTorch keeps this name for itself; give another"
    else:
        return
    raise InputError(f"{name[: _LONGEST + 10]!r} cannot be the name of a language: {why}")


def code_of(language: str) -> str | None:
    """Return the ISO 639-1 code of a language, by its name or code, if it is known.

    >>> code_of("German"), code_of("de-AT"), code_of("ukrainian"), code_of("text")
    ('de', 'de', 'uk', None)
    """
    name = _without_region(language)
    return _CODES.get(name, name if name in NAMES else None)


def elides(language: str) -> bool:
    """Return whether words of a language lose a vowel before another, as in "dell'acqua".

    An apostrophe between letters then parts two words. The Moses tokenizer has the same rule.

    >>> elides("Italian"), elides("fr"), elides("english")
    (True, True, False)
    """
    return code_of(language) in _ELIDING


def stemmer_of(language: str) -> str | None:
    """Return the name of a language's Snowball stemmer, if there is one.

    >>> stemmer_of("de"), stemmer_of("German"), stemmer_of("pt_BR"), stemmer_of("ukrainian")
    ('german', 'german', 'portuguese', None)
    """
    name = _without_region(language)
    name = NAMES.get(name, name)
    return name if name in Stemmer.algorithms() else None


def find_stemmer(stemmer: str | None, language: str) -> str | None:
    """Return the name of a Snowball stemmer; for `AUTO` the language's, None if it has none."""
    return stemmer_of(language) if stemmer == AUTO else stemmer


def _without_region(language: str) -> str:
    """Return the name or code in lower case, of "it-IT" or "pt_BR" what comes first."""
    code, mark, _ = language.lower().replace("_", "-").partition("-")
    return code if mark and code in NAMES else language.lower()
