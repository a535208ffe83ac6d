"""
The console's page in headless Chromium, on a real meted with 64 devices and 500 tenants: what it says, what clicks, keys and
the address do, how it takes a meted that goes away, how large it is and how long it takes, and whether everybody can use it.

METE_CONSOLE_PICTURE=FILE keeps a picture of the first view.
"""
import browser
from node import *

HERE = os.path.dirname(os.path.abspath(__file__))
WIRE_BYTES = 150_000
DRAW_MS = 300
DRAW_TRIES = 6

if not browser.find():
    skip('the page', 'chromium is not installed')
    finish()
if without_http():
    skip('the page', 'built without HTTP')
    finish()

with open(os.path.join(HERE, 'accessible.js'), encoding='utf-8') as source:
    ACCESSIBLE = source.read()


def show(page, where):
    """A view, once it is there."""
    page.do(f'location.hash = {json.dumps(where)}')
    page.until(f'document.querySelector("main h1") && document.querySelector("main").dataset.address === {json.dumps(where)}')


def rows(page):
    return page.do('[...document.querySelectorAll(".scroll tbody tr")].map((r) => [...r.cells].map((c) => c.innerText.trim()))')


def opened(node, chrome, view=''):
    page = chrome.page()
    page.size(1440, 900)
    page.dark(False)
    page.open(node.url + view)
    page.until('performance.getEntriesByName("mete-painted").length')
    return page


def test_first_view(node, chrome):
    page = opened(node, chrome)
    # What is asked again later is not of the first view; the node's history and what draws it are.
    page.until('document.querySelectorAll(".trends .plot canvas").length === 2')
    page.do('mete.feed.hold(true)')
    wire = page.wire_bytes()
    ok(wire <= WIRE_BYTES, f'the first view takes {wire} bytes over the wire, at most {WIRE_BYTES}')
    described = node.get('/api/v1/node')
    text = page.text('.tiles')
    shares = sum(len(t['shares']) for t in described['tenants'])
    ok('\n500\n' in text and '\n64\n' in text, 'it counts devices and tenants', text)
    page.until('document.querySelectorAll(".cards > li").length === 64')
    ok(True, 'a card for each device')
    same(page.do('document.querySelectorAll(".bar.memory .share").length'), shares, 'a box for each share')
    sums = page.do('''[...document.querySelectorAll(".cards > li")].map((c) => [
        [...c.querySelectorAll(".memory .quota")].reduce((n, r) => n + r.width.baseVal.value, 0) / c.querySelector(".memory").clientWidth,
        c.querySelector(".track").clientWidth / c.querySelector(".line").clientWidth])''')
    largest = max(d['total_bytes'] for d in described['devices'])
    wrong = [(d['index'], s) for d, s in zip(described['devices'], sums)
             if abs(s[0] - d['promised_bytes'] / d['total_bytes']) > 0.01 or abs(s[1] - d['total_bytes'] / largest) > 0.01]
    same(wrong, [], 'boxes and bars are to scale')
    idle = sum(d['promised_bytes'] - d['held_bytes'] for d in described['devices']) / 2**40
    ok(f'{idle:.2f} TiB' in text, 'what is promised and not used is said', idle, text)
    return page


def take_picture(node, chrome, path):
    """With a minute of history, in which programs give memory back and take it again."""
    page = opened(node, chrome, '#/?span=600')
    rnd = random.Random(5)
    for _ in range(60):
        for client in rnd.sample(node.clients, 12):
            units = client.word()[1] // 2
            if client.ask('give', 0, units) and rnd.random() < 0.5:
                client.hold(0, units)
        time.sleep(1)
    page.picture(path)


def test_time(node, chrome):
    """
    The best of some loads, for the machine may be busy with something else. Then the clock says nothing, and it is what
    the page's own thread computed that is judged.
    """
    best, tries = [1e9, 1e9], 0
    while best[0] > DRAW_MS and tries < DRAW_TRIES:
        page = opened(node, chrome)
        best = min(best, [page.do('performance.getEntriesByName("mete-painted")[0].startTime'), page.computed_ms()])
        tries += 1
        page.ask('Page.close')
    ok(best[0] <= DRAW_MS or (best[1] <= DRAW_MS and os.getloadavg()[0] > os.cpu_count()),
       f'from the click to the picture {best[0]:.0f} ms, of them {best[1]:.0f} computed, at most {DRAW_MS}', f'{tries} tries')


def test_tenants(page, node):
    show(page, '#/tenants')
    same(len(rows(page)), 500, 'a row for each tenant')
    page.do('scrollTo(0, 5000)')
    page.until('Math.abs(document.querySelector("thead th").getBoundingClientRect().top - document.querySelector("header").offsetHeight) < 2')
    page.do('scrollTo(0, 0)')
    ok(True, 'what its columns are stays in sight')
    page.do('document.querySelector("[data-filter=state]").value = "frozen";'
            'document.querySelector("[data-filter=state]").dispatchEvent(new Event("change"))')
    page.until('location.hash.includes("state=frozen")')
    frozen = [t['name'] for t in node.get('/api/v1/node')['tenants'] if t['state'] == 'frozen']
    page.until(f'document.querySelectorAll("tbody tr").length === {len(frozen)}')
    same(sorted(r[0] for r in rows(page)), sorted(frozen), 'a filter shows its tenants, and stands in the address')
    show(page, '#/tenants?q=train&sort=-quota')
    got = rows(page)
    ok(got and all(r[0].startswith('train') for r in got), 'a search from the address', got[:3])
    order = page.do('mete.lists.current.rows.map((r) => r.quota)')
    same(order, sorted(order, reverse=True), 'sorted as the address says')
    page.click_text('th button', 'Held')
    page.until('location.hash.includes("sort=-held")')
    page.until('document.querySelector("th[aria-sort]").innerText.includes("Held")')
    ok(True, 'a heading sorts')
    page.do('history.back()')
    page.until('document.querySelector("main").dataset.address.includes("sort=-quota")')
    page.click('tbody tr td:nth-child(4)')
    page.until('location.hash.startsWith("#/tenant/train")')
    ok(True, 'a row opens its tenant, the back button goes back')
    show(page, '#/tenants?q=nobody-is-called-so')
    ok('No tenant is like that' in page.text('main'), 'nothing found is said')
    show(page, '#/nowhere')
    ok('There is no view nowhere' in page.text('main'), 'a view that there is not')
    show(page, '#/tenant/gone')
    ok('There is no tenant gone' in page.text('main'), 'a tenant that there is not')


def plots(page, node, what):
    if node.request('GET', f'/api/v1/history?device={node.get("/api/v1/node")["devices"][0]["uuid"]}')[0] == 404:
        skip(f'the history of {what}', 'this meted keeps none')
        return
    page.until('document.querySelectorAll(".plot canvas").length === 2')
    ok(page.do('document.querySelector(".plot[aria-label^=Memory]") !== null'), f'the history of {what}')


def test_detail(page, node):
    name = node.get('/api/v1/node')['tenants'][0]['name']
    show(page, f'#/tenant/{name}')
    plots(page, node, 'a tenant')
    page.click_text('.spans button', '1 h')
    page.until('location.hash.includes("span=3600")')
    page.until('document.querySelector(".feed")?.innerText.includes("made by uid")')
    ok(True, 'its events')
    device = node.get('/api/v1/node')['devices'][3]
    show(page, f'#/device/{device["uuid"]}')
    plots(page, node, 'a device')
    shares = sum(s['uuid'] == device['uuid'] for t in node.get('/api/v1/node')['tenants'] for s in t['shares'])
    same(len(rows(page)), shares, 'a device with its tenants')
    show(page, '#/device/1')
    page.until('document.querySelector("main h1")?.innerText.startsWith("Device 1")')
    ok(True, 'a device by the number that `mete devices` has')
    show(page, '#/events?kind=grant')
    ok(rows(page) and {r[1] for r in rows(page)} == {'grant'}, 'events of a kind')
    show(page, '#/devices')
    same(len(rows(page)), 64, 'a row for each device')


def test_export(page):
    show(page, '#/tenants?q=infer')
    text = page.do('mete.export.csv()')
    lines = text.strip().split('\r\n')
    ok(lines[0].startswith('name,state,user') and len(lines) == 1 + len(rows(page)), 'the rows that are shown, as CSV', lines[:2])
    exported = json.loads(page.do('mete.export.json()'))
    ok(exported['tenants'][0]['shares'][0]['uuid'], 'and as JSON')


def test_keys(page):
    show(page, '#/')
    page.do('document.activeElement.blur()')
    page.key('3')
    page.until('location.hash === "#/tenants"')
    page.until('document.querySelector(".scroll tbody tr")')
    page.key('/')
    page.until('document.activeElement.id === "search"')
    page.type('batch')
    page.until('location.hash.includes("q=batch")')
    page.key('Enter')
    page.until('document.activeElement.id !== "search"')
    page.until('[...document.querySelectorAll("tbody tr")].every((r) => r.innerText.includes("batch"))')
    page.key('j')
    page.key('ArrowDown')
    second = rows(page)[1][0]
    page.until('document.querySelector("tbody tr:nth-child(2)[aria-current]")')
    page.key('Enter')
    page.until(f'location.hash === "#/tenant/{second}"')
    page.key('Escape')
    page.until('location.hash === "#/tenants"')
    page.key('?')
    ok('Next row' in page.until('document.querySelector("#help[open]")?.innerText'), 'the keys are explained')
    page.key('Escape')
    page.until('!document.querySelector("#help[open]")')
    ok(True, 'all by the keyboard: views, search, rows, back')


def test_themes(page):
    show(page, '#/')
    ground = 'getComputedStyle(document.body).backgroundColor'
    light = page.do(ground)
    page.dark(True)
    dark = page.until(f'{ground} !== {json.dumps(light)} && {ground}')
    ok(sum(map(int, dark.strip('rgb()').split(','))) < 150, 'dark where the system is', dark)
    page.do('document.activeElement.blur()')
    page.key('d')
    same(page.until(f'document.documentElement.dataset.theme === "light" && {ground}'), light, 'light where one wants it')
    page.do('localStorage.clear(); document.documentElement.removeAttribute("data-theme")')
    page.dark(False)


def test_accessible(page, node):
    tenant = node.get('/api/v1/node')['tenants'][0]['name']
    device = node.get('/api/v1/node')['devices'][0]['uuid']
    for dark in (False, True):
        page.dark(dark)
        for where in ('#/', '#/devices', '#/tenants', '#/events', f'#/tenant/{tenant}', f'#/device/{device}'):
            show(page, where)
            same(page.do(ACCESSIBLE), [], f'{where.split("-")[0]} is for everybody, {"dark" if dark else "light"}')
        show(page, f'#/tenant/{tenant}')
        page.click_text('.actions button', 'Resize …')
        page.until('document.querySelector("#dialog[open]")')
        same(page.do(ACCESSIBLE), [], 'and so is a dialog')
        page.key('Escape')
        page.until('!document.querySelector("#dialog[open]")')
    page.dark(False)
    page.size(390, 844)
    show(page, '#/')
    ok(page.do('document.documentElement.scrollWidth <= innerWidth + 1'), 'it fits on a narrow screen')
    page.ask('Emulation.setEmulatedMedia', media='print')
    ok(page.do('!document.querySelector("nav").checkVisibility() && document.querySelectorAll(".card").length === 64'), 'paper gets no controls')
    page.ask('Emulation.setEmulatedMedia', media='')
    page.size(1440, 900)


def keeps_place(page, control, name, index):
    """In the whole table, scrolled and with a word selected, while a row changes."""
    show(page, '#/tenants')
    page.until('document.querySelectorAll("tbody tr").length === 500')
    held = page.do(f"""(() => {{ const row = document.querySelector('tr[data-key="{name}"]'); row.scrollIntoView({{block: "center"}});
        getSelection().selectAllChildren(row.querySelector("a")); return [scrollY, getSelection().toString()]; }})()""")
    control.ask('grant_set', name=name, devices=[{'device': index, 'mem_bytes': 125 << 20}])
    page.until(f"""document.querySelector('tr[data-key="{name}"]').innerText.includes("125 MiB")""")
    same(page.do('[scrollY, getSelection().toString()]'), held, 'place and selection stay')
    ok(held[0] > 1000 and held[1] == name, 'where they were', held)
    page.do('getSelection().removeAllRanges()')


def test_live(page, node, control):
    name = node.get('/api/v1/node')['tenants'][450]['name']
    page.do('mete.feed.hold(false)')
    show(page, f'#/tenants?q={name}')
    page.until('document.querySelectorAll("tbody tr").length === 1')
    page.do('document.querySelector("tbody tr").mine = true')
    index = control.share(name)['index']
    control.ask('grant_set', name=name, devices=[{'device': str(index), 'mem_bytes': 123 << 20}])
    page.until('document.querySelector("tbody tr").innerText.includes("123 MiB")')
    ok(page.do('document.querySelector("tbody tr").mine'), 'what changes is shown, in the same row')
    keeps_place(page, control, name, str(index))
    show(page, f'#/tenants?q={name}')
    control.ask('grant_delete', name=name)
    page.until('document.querySelector("main").innerText.includes("No tenant is like that")')
    ok(True, 'a tenant that ends goes')


def test_still(page):
    """While nothing happens the page is asked for again and again, and nothing of it is made anew."""
    show(page, '#/')
    page.until('document.querySelectorAll(".trends .plot canvas").length === 2')
    page.do("""window.made = []; window.watcher = new MutationObserver((all) => all.forEach((m) => made.push(m.type + " " + m.target.nodeName)));
        watcher.observe(document.querySelector("main"), {subtree: true, childList: true}); window.began = mete.feed.feed.node.time""")
    page.until('mete.feed.feed.node.time > began + 4')
    same(page.do('watcher.disconnect(), made'), [], 'nothing flickers')


def dialog(page, button, submit, token=None):
    page.click_text('.actions button', button)
    page.until('document.querySelector("#dialog[open]")')
    if token:
        page.do('document.querySelector("#token").focus(); document.querySelector("#token").value = ""')
        page.type(token)
    page.click_text('#dialog button', submit)


def test_actions(page, node, control):
    name = node.get('/api/v1/node')['tenants'][460]['name']
    show(page, f'#/tenant/{name}')
    page.click_text('.actions button', 'Freeze …')
    page.until('document.querySelector("#dialog[open]")')
    page.click_text('#dialog button', 'Freeze')
    same(page.do('document.querySelector("#token:invalid") !== null'), True, 'nothing is sent without a token')
    page.key('Escape')
    page.until('!document.querySelector("#dialog[open]")')
    token = node.token()
    dialog(page, 'Freeze …', 'Freeze', 'f' * 64)
    page.until('document.querySelector("#dialog .trouble").innerText.includes("mete token show")')
    same(control.share(name)['frozen'], False, 'a wrong token does nothing, and that is said')
    page.do('document.querySelector("#token").focus(); document.querySelector("#token").select()')
    page.type(token)
    page.click_text('#dialog button', 'Freeze')
    page.until('!document.querySelector("#dialog[open]")')
    page.until('document.querySelector("main .badge.frozen")')
    same(control.share(name)['frozen'], True, 'the right one freezes')
    dialog(page, 'Thaw …', 'Thaw')
    page.until('document.querySelector("main .badge.running, main .badge.idle")')
    same(control.share(name)['frozen'], False, 'the next action does not ask for it again')
    page.click_text('.actions button', 'Resize …')
    page.until('document.querySelector("#dialog[open] input")')
    page.do('document.querySelector("#dialog input").select()')
    page.type('64 lots')
    page.click_text('#dialog button', 'Resize')
    page.until('document.querySelector("#dialog .trouble").innerText.includes("no size")')
    page.do('document.querySelector("#dialog input").select()')
    page.type('77M')
    page.click_text('#dialog button', 'Resize')
    ok(until(lambda: control.share(name)['quota_bytes'] == 77 << 20, 30), 'resized', control.share(name))
    page.until('document.querySelector("main").innerText.includes("77 MiB")')
    dialog(page, 'End …', 'End it')
    ok(until(lambda: control.grant(name) is None, 30), 'ended')
    page.until(f'document.querySelector("main").innerText.includes("There is no tenant {name} now")')
    same([a['action'] for a in node.audit() if a['target'] == name], ['freeze', 'thaw', 'resize', 'end'], 'all of it is written down')
    same(page.do('JSON.stringify(localStorage).length < 40 && !location.href.includes(sessionStorage["mete.token"])'), True,
         'the token is kept for the tab alone')


def test_lost(page, node):
    show(page, '#/')
    node.kill()
    page.until('document.querySelector(".banner")?.innerText.includes("does not answer")')
    same(page.do('document.querySelectorAll(".cards > li").length'), 64, 'without meted the last picture stays, and a line says so')
    same(page.do(ACCESSIBLE), [], 'it can be read then, too')
    node.start()
    page.until('!document.querySelector(".banner") && document.querySelector(".live.on")')
    ok(True, 'it connects again by itself')


picture = os.environ.get('METE_CONSOLE_PICTURE')
node = loaded_node(running=400) if picture else loaded_node()
chrome = browser.Browser()
try:
    control = node.control()
    if picture:
        take_picture(node, chrome, picture)
    page = test_first_view(node, chrome)
    test_time(node, chrome)
    test_tenants(page, node)
    test_detail(page, node)
    test_export(page)
    test_keys(page)
    test_themes(page)
    test_accessible(page, node)
    test_live(page, node, control)
    test_still(page)
    test_actions(page, node, control)
    # The browser reports refused requests; the page itself must not complain.
    same([c for c in page.complaints() if '401' not in c and '/history' not in c], [], 'the page complains of nothing')
    control.close()
    test_lost(page, node)
finally:
    chrome.close()
node.close()
finish()
