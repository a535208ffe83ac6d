"""Lengths: the small expressions in count(), bytes() and string() of a spec.

    sum     = product { (+ | -) product }
    product = atom { * atom }
    atom    = integer | name | name->field | *name | ( sum )
"""

import re


class LengthError(Exception):
    pass


def parse(expr):
    """Value: nested tuples: ("+", a, b), ("-", a, b), ("*", a, b), ("number", n), ("value", name), ("target", name),
    ("field", name, field). Raises LengthError."""
    tokens = re.findall(r"\w+->\w+|\w+|\S", expr)

    def take(*wanted):
        if tokens and (not wanted or tokens[0] in wanted):
            return tokens.pop(0)
        return None

    def chain(part, *operators):
        left = part()
        while (op := take(*operators)):
            left = (op, left, part())
        return left

    def product():
        return chain(atom, "*")

    def total():
        return chain(product, "+", "-")

    def atom():
        token = take() or ""
        if token == "(":
            inner = total()
            if not take(")"):
                raise LengthError(f'cannot read "{expr}": ")" is missing')
            return inner
        if token == "*" and tokens and re.fullmatch(r"[A-Za-z_]\w*", tokens[0]):
            return ("target", take())
        if token.isdigit():
            return ("number", int(token))
        if re.fullmatch(r"[A-Za-z_]\w*->\w+", token):
            return ("field", *token.split("->"))
        if re.fullmatch(r"[A-Za-z_]\w*", token):
            return ("value", token)
        raise LengthError(f'cannot read "{expr}"')

    tree = total()
    if tokens:
        raise LengthError(f'cannot read "{expr}" behind "{tokens[0]}"')
    return tree


def names(tree):
    """All (kind, name, field or None) in the tree."""
    if tree[0] in ("value", "target", "field"):
        return [(tree[0], tree[1], tree[2] if len(tree) > 2 else None)]
    return [] if tree[0] == "number" else names(tree[1]) + names(tree[2])


def checked(expr, bad, is_signed, prefix=""):
    """C text that computes the length in 64 bits and raises the flag `bad` instead of overflowing or turning negative.

    is_signed(kind, name, field) says whether the integer that a leaf names has a sign; `prefix` stands before each name."""
    functions = {"+": "remote_add", "-": "remote_sub", "*": "remote_mul"}

    def leaf(tree, value):
        has_sign = is_signed(tree[0], tree[1], tree[2] if len(tree) > 2 else None)
        return f"remote_length({bad}, (int64_t){value})" if has_sign else f"(uint64_t){value}"

    def text(tree):
        kind = tree[0]
        if kind == "number":
            return f"UINT64_C({tree[1]})"
        if kind == "value":
            return leaf(tree, prefix + tree[1])
        if kind == "target":
            return f"({prefix}{tree[1]} ? {leaf(tree, '*' + prefix + tree[1])} : 0)"
        if kind == "field":
            return leaf(tree, f"{prefix}{tree[1]}->{tree[2]}")
        return f"{functions[kind]}({bad}, {text(tree[1])}, {text(tree[2])})"

    return text(parse(expr))
