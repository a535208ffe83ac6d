"""A terminal's glass (tests/cli/terminal.py) as a picture in SVG: text that can be searched, and nothing that moves."""
import re
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 8.4, 18, 12  # of a letter, of a line, round all; in pixels
PAPER, INK, BRIGHT = '#11151c', '#c9d1d9', '#ffffff'
COLOURS = {0: '#484f58', 1: '#ff7b72', 2: '#56d364', 3: '#e3b341', 4: '#79c0ff', 5: '#d2a8ff', 6: '#56d4dd', 7: INK}
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def runs(letters, looks):
    """Neighbours that look alike: (column, text, look)."""
    begin = 0
    for x in range(1, len(letters) + 1):
        if x == len(letters) or looks[x] != looks[begin]:
            yield begin, ''.join(letters[begin:x]), looks[begin]
            begin = x


def line(y, letters, looks):
    out = []
    for x, text, (colour, bold, reverse, under) in runs(letters, looks):
        left, top = MARGIN + x * WIDTH, MARGIN + y * HEIGHT
        ink = COLOURS.get(colour, BRIGHT if bold and not reverse else INK)
        if reverse:
            out.append(f'<rect x="{left:.1f}" y="{top}" width="{len(text) * WIDTH:.1f}" height="{HEIGHT}" fill="{ink}"/>')
            ink = PAPER
        more = ' font-weight="bold"' if bold else ''
        more += ' text-decoration="underline"' if under else ''
        # Word by word, each in its place: browsers fold blanks.
        for word in re.finditer(r'\S+', text):
            out.append(f'<text x="{left + word.start() * WIDTH:.1f}" y="{top + 13.5:.1f}" fill="{ink}" '
                       f'textLength="{len(word[0]) * WIDTH:.1f}"{more}>{escape(word[0])}</text>')
    return out


def svg(screen, title):
    """The picture of what stands on a Screen."""
    width, height = screen.columns * WIDTH + 2 * MARGIN, screen.rows * HEIGHT + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
           f'font-family="{FONT}" font-size="14" role="img">', f'<title>{escape(title)}</title>',
           f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>']
    for y, (letters, looks) in enumerate(zip(screen.cells, screen.looks)):
        out += line(y, letters, looks)
    return '\n'.join([*out, '</svg>', ''])
