"""shrink.py: makes a failing program small: drops statements, steps, items and rows while it fails alike."""
import copy

TRIES_MAX = 150


class Shrinker:
    """`fails(program)` says whether a program still fails in the same way."""

    def __init__(self, program, fails):
        self.program, self.fails = program, fails
        self.tries = 0

    def accept(self, changed):
        self.tries += 1
        if self.tries > TRIES_MAX or not self.fails(changed):
            return False
        self.program = changed
        return True

    def smallest(self):
        before = None
        while before != (size := self.size()) and self.tries < TRIES_MAX:
            before = size
            self.drop_arguments()
            self.drop_statements()
            self.drop_steps()
            self.drop_rows()
            self.drop_items()
            self.simplify_expressions()
        return self.program

    def size(self):
        return len(self.program.text()), sum(map(len, self.program.files.values()))

    def changed(self, edit):
        program = copy.deepcopy(self.program)
        edit(program)
        used = program.text()
        program.files = {name: pieces for name, pieces in program.files.items() if name.split("/")[0] in used}
        return program

    def drop_arguments(self):
        for i in reversed(range(len(self.program.arguments))):
            self.accept(self.changed(lambda p, i=i: p.arguments.pop(i)))

    def drop_statements(self):
        for i in reversed(range(len(self.program.statements))):
            self.accept(self.changed(lambda p, i=i: p.statements.pop(i)))

    def drop_steps(self):
        for i in range(len(self.program.statements)):
            for j in reversed(range(1, len(self.program.statements[i]))):
                self.accept(self.changed(lambda p, i=i, j=j: p.statements[i].pop(j)))

    def drop_items(self):
        for i, statement in enumerate(self.program.statements):
            for j in range(1, len(statement)):
                for k in reversed(range(len(statement[j][1]))):
                    if len(self.program.statements[i][j][1]) > 1:
                        self.accept(self.changed(lambda p, i=i, j=j, k=k: p.statements[i][j][1].pop(k)))

    def drop_rows(self):
        for name in list(self.program.files):
            step = max(1, len(self.program.files[name]) // 2)
            while step:
                at = len(self.program.files[name]) - step
                while at >= 0 and self.tries < TRIES_MAX:
                    self.accept(self.changed(lambda p, a=at, n=name, s=step: p.files[n].__delitem__(slice(a, a + s))))
                    at -= step
                step //= 2

    def simplify_expressions(self):
        """Puts a part of an expression in its whole's place: what is in parentheses, or an argument."""
        for i, statement in enumerate(self.program.statements):
            for j in range(1, len(statement)):
                for k in range(len(statement[j][1])):
                    self.simplify_item(i, j, k)

    def simplify_item(self, i, j, k):
        progress = True
        while progress and self.tries < TRIES_MAX:
            progress = False
            text = self.program.statements[i][j][1][k]
            for whole, part in parts_of(text):
                if part != whole and self.accept(self.changed(
                        lambda p, t=text.replace(whole, part, 1): p.statements[i][j][1].__setitem__(k, t))):
                    progress = True
                    break


def parts_of(text):
    """(whole, part) pairs to try, longest first: a call or parenthesis, and each of its pieces."""
    found = []
    for begin, c in enumerate(text):
        if c != "(":
            continue
        depth, pieces, last = 0, [], begin + 1
        for end in range(begin, len(text)):
            depth += text[end] in "([{"
            depth -= text[end] in ")]}"
            if depth == 1 and text[end] in ", " and end > begin:
                pieces.append(text[last:end])
                last = end + 1
            if depth == 0:
                pieces.append(text[last:end])
                break
        else:
            continue
        start = begin
        while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        whole = text[start:end + 1]
        found += [(whole, piece) for piece in pieces if piece.strip()]
        found += [(whole, easy) for easy in ("1", "1.0", "\"a\"", "true")]
    return sorted(found, key=lambda pair: -len(pair[0]))[:60]
