"""The console draws memory that is away from its device, and says where it is: away_test.py BUILD SOURCE"""
import browser
from node import *

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'memory'))
from memory import MIB, Resider  # noqa: E402

if not browser.find():
    skip('memory that is away', 'chromium is not installed')
    finish()
if without_http():
    skip('memory that is away', 'built without HTTP')
    finish()


def share(node):
    return node.get('/api/v1/node')['tenants'][0]['shares'][0]


def drawn(page, cls):
    """The part of the device's bar that boxes of this class take."""
    return page.do(f'''[...document.querySelectorAll(".bar.memory .{cls}")].reduce((n, r) => n + r.width.baseVal.value, 0)
        / document.querySelector(".bar.memory").clientWidth''')


node = Node('--soft-only', env={'METE_SOFT_DEVICES': '1', 'METE_SOFT_MEMORY': '64M', 'METE_SOFT_CONTEXT_MEMORY': '0'})
chrome = browser.Browser()
try:
    control = node.control()
    node.make('moves', 40 * MIB, spill=True)
    resider = Resider(node, 'moves', 24 * MIB, 1)
    resider.has('holds')
    held = control.share('moves')['held_bytes']
    page = chrome.page()
    page.size(1440, 900)
    page.open(node.url)
    page.until('document.querySelector(".bar.memory .held")')
    same((share(node)['residence'], share(node)['away_bytes'], page.do('document.querySelectorAll(".bar.memory .away").length')), ('resident', 0, 0),
         'memory on the device is drawn as held')
    control.ask('grant_suspend', name='moves')
    ok(until(lambda: share(node)['residence'] == 'away', 30), 'suspended', share(node))
    same((share(node)['away_bytes'], share(node)['held_bytes']), (held, 0), 'the API says how much is away')
    page.until('document.querySelector(".bar.memory .away") && !document.querySelector(".bar.memory .held")')
    ok(abs(drawn(page, 'away') - held / (64 * MIB)) < 0.01, 'and it is drawn to scale', drawn(page, 'away'))
    page.do('location.hash = "#/tenants"')
    page.until('document.querySelector("tr[data-key=moves]")?.innerText.includes("MiB away")')
    page.do('location.hash = "#/tenant/moves"')
    page.until('/Memory is\\s*away/.test(document.querySelector("main").innerText)')
    ok(True, 'its row and its page say so')
    control.ask('grant_resume', name='moves')
    page.until('document.querySelector(".bar.memory .held") && !document.querySelector(".bar.memory .away")')
    ok(True, 'and when it has returned, it is held again')
    same([c for c in page.complaints() if '/history' not in c], [], 'the page complains of nothing')
    resider.go_on()
    same(resider.end(), 0, 'every word is what it has to be')
    control.close()
finally:
    chrome.close()
node.close()
finish()
