"""Receipts of models that somebody made up from genuine signatures."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from panbayes.bayesnet.receipts import Receipts, SignedAnswer, Signer
from panbayes.consortium.desk.receipts import check_receipts
from panbayes.consortium.desk.roster import Roster
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.signatures import sign

KEYS = {name: PrivateKey.generate() for name in ("north", "south")}
ROSTER = Roster.parse("".join(f"{name} {key.public.line}\n" for name, key in KEYS.items()))


def answer(name: str, number: int) -> SignedAnswer:
    letter = f"{name}'s answer {number}".encode()
    digest = hashlib.sha512(letter).hexdigest()
    return SignedAnswer(number, number, f"{number:064x}", "0" * 64, digest, sign(KEYS[name], "panbayes-answer", letter))


def made(**answers: tuple[SignedAnswer, ...]) -> Receipts:
    signers = tuple(Signer(name, KEYS[name].public.line, given) for name, given in answers.items())
    return Receipts("1f" * 32, KEYS["north"].public.line, signers)


def faults(receipts: Receipts, named: str = "north, south") -> dict[str, tuple[str, ...]]:
    return {one.name: one.faults for one in check_receipts(receipts, ROSTER, named=named) if one.faults}


GOOD = made(north=(answer("north", 1), answer("north", 2)), south=(answer("south", 1),))


def test_what_was_signed_is_sound_also_where_one_of_them_was_left_out() -> None:
    assert faults(GOOD) == {}
    assert faults(made(north=(answer("north", 1),), south=())) == {}


def test_one_answer_does_not_count_for_several() -> None:
    first = answer("north", 1)
    copies = tuple(replace(first, sequence=number, question=f"{number:064x}") for number in range(1, 5))
    found = faults(made(north=copies, south=(answer("south", 1),)))
    assert found["north"][0] == "answer 2 is another one under a number of its own"
    again = replace(answer("north", 2), question=first.question)
    assert list(faults(made(north=(first, again), south=(answer("south", 1),)))) == ["north"]


def test_a_holder_does_not_count_twice() -> None:
    twice = replace(GOOD, holders=(*GOOD.holders, GOOD.holders[0]))
    assert faults(twice) == {"north": ("it is there twice",)}


def test_a_model_that_nobody_signed_an_answer_of_is_not_sound() -> None:
    said = ("nobody signed an answer that it says it was learned from",)
    assert faults(made(north=(), south=())) == {"the model": said}
    assert faults(replace(GOOD, holders=()), named="") == {"the model": said}


def test_a_signature_is_of_the_letter_that_is_named_and_by_the_key_of_the_roster() -> None:
    first, second = answer("north", 1), answer("north", 2)
    forged = made(north=(first, replace(second, signature=first.signature)), south=(answer("south", 1),))
    said = "the signature of answer 2 is not by this key, or of another letter"
    assert faults(forged) == {"north": (said,)}
    own = Signer("north", KEYS["south"].public.line, (answer("south", 1),))
    other = ("the roster has another key, or none",)
    assert faults(replace(GOOD, holders=(own, GOOD.holders[1])))["north"] == other
    assert faults(replace(GOOD, holders=(replace(GOOD.holders[0], name="west"),)), named="west") == {"west": other}
    assert faults(GOOD, named="north, south, west") == {"west": ("the model names it, and has no receipt of it",)}
