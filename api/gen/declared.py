"""A call as its C declaration, for the specs whose blocks have "args": one text for each parameter, as in C."""
import re

ARG = re.compile(r"(.*[\s*])(\w+)$")
GATE = re.compile(r"(compute|copy)$|copy\((.+)\)$|not: \S.*$")


class Declared:
    """A block's parameters, the keys that all such specs have, and what is wrong with them."""

    def __init__(self, symbol, block, keys, fault):
        self.symbol, self.args = symbol, []
        self.treat = block.get("treat", "pass")
        self.charge, self.gate = block.get("charge", ""), block.get("gate", "")
        for key in sorted(block.keys() - keys):
            fault(symbol, f'unknown key "{key}"')
        for text in block.get("args", []):
            m = ARG.match(text)
            if m:
                self.args.append((m[1].strip(), m[2]))
            else:
                fault(symbol, f'cannot read the declaration "{text}"')

    def check_treat(self, bodies, fault):
        if self.treat not in ("pass", "custom", *bodies):
            fault(self.symbol, f'treat "{self.treat}": pass, custom or one of {", ".join(sorted(bodies))}')

    def check_gate(self, fault):
        if self.gate and not GATE.match(self.gate):
            fault(self.symbol, f'gate "{self.gate}": compute, copy, copy(BYTES) or "not: REASON"')
        if self.treat == "pass" and self.gate and not self.gate.startswith("not: "):
            fault(self.symbol, f'gate "{self.gate}" with treat "pass": nobody would gate it')

    @property
    def names(self):
        return [n for _, n in self.args]

    @property
    def parameters(self):
        return ", ".join(f"{t}{'' if t.endswith('*') else ' '}{n}" for t, n in self.args)

    @property
    def copied_bytes(self):
        """The expression of copy(BYTES); "0": it is not said."""
        m = GATE.match(self.gate)
        return m[2] if m and m[2] else "0"
