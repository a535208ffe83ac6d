"""
The console as an operator has it from another machine, in headless Chromium: TLS and the token for everything, devices taken out
and brought back, tenants released and ended, each asked for, done and written down; and whether everybody can use every view.

Accessibility is judged by axe-core where it is found: METE_AXE, or node_modules/axe-core/axe.min.js beside the sources or in
one of the usual places.
"""
import glob

import browser
from node import *

HERE = os.path.dirname(os.path.abspath(__file__))
METE = os.path.join(BUILD, 'src/cli/mete')
WALL_CLIENT = os.path.join(BUILD, 'tests/remote/wall_client')
PROGRAM = os.path.join(BUILD, 'tests/cli/mete_client')
AXE = [os.environ.get('METE_AXE', ''), *glob.glob(os.path.join(HERE, '../../node_modules/axe-core/axe.min.js')),
       '/usr/share/javascript/axe-core/axe.min.js', '/usr/lib/node_modules/axe-core/axe.min.js']
JUDGE = """axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.map((v) => `${v.id}: ${v.help}: ` +
    v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(" | ")))"""

for missing, why in ((not browser.find(), 'chromium is not installed'), (without_http(), 'built without HTTP'),
                     (not shutil.which('openssl'), 'openssl is not installed')):
    if missing:
        skip('the console over the network', why)
        finish()


def make_cert(folder):
    cert, key = os.path.join(folder, 'cert.pem'), os.path.join(folder, 'key.pem')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj',
                    '/CN=localhost', '-keyout', key, '-out', cert, '-days', '2'], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return cert, key


def secure_node():
    """meted at all addresses, by TLS; it wants a token before it starts so."""
    node = Meted(env={'METE_SOFT_DEVICES': '2', **QUARANTINES})
    token = node.control().ask('token_new')['token']
    node.kill(signal.SIGTERM)
    cert, key = make_cert(node.dir)
    port = free_port()
    node.options = ['--http', f'0.0.0.0:{port}', '--http-cert', cert, '--http-key', key]
    node.start()
    node.make('left', devices=[{'device': '0', 'mem_bytes': GIB, 'cores': 30}])
    node.make('right', devices=[{'device': '1', 'mem_bytes': GIB, 'cores': 10}])
    node.make('wild', devices=[{'device': '1', 'mem_bytes': GIB}])
    return node, token, f'https://127.0.0.1:{port}/'


def mete(node, *words):
    return subprocess.run([METE, *words], env={**node.env, 'METE_RUNTIME_DIR': node.dir}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=120)


def state(node, index):
    return next(d for d in node.control().ask('devices')['devices'] if d['driver'] == 'soft' and d['index'] == index)['state']


def show(page, where):
    page.do(f'location.hash = {json.dumps(where)}')
    page.until(f'document.querySelector("main h1") && document.querySelector("main").dataset.address === {json.dumps(where)}')


def act(page, button, submit, said=None, reason=None):
    """A button, its question, yes. `said`: a part of what is asked."""
    page.click_text('.actions button', button)
    page.until('document.querySelector("#dialog[open]")')
    if said:
        ok(said in page.text('#dialog'), f'{submit}: it is said what will happen', page.text('#dialog'))
    if reason:
        page.do('document.querySelector("#dialog input").focus()')
        page.type(reason)
    page.click_text('#dialog button', submit)
    page.until('!document.querySelector("#dialog[open]")')


def test_token(page, url, token):
    page.trust_all()
    page.open(url)
    page.until('document.querySelector(".banner")?.innerText.includes("token")')
    ok('left' not in page.text() and 'right' not in page.text(), 'without the token nothing is shown', page.text())
    for given, good in (('f' * 64, False), (token, True)):
        page.click_text('.banner button', 'Give the token')
        page.until('document.querySelector("#dialog[open] #token")')
        page.do('document.querySelector("#token").focus()')
        page.type(given)
        page.click_text('#dialog button', 'Keep it')
        if good:
            page.until('!document.querySelector("#dialog[open]")')
            page.until('!document.querySelector(".banner") && document.querySelectorAll(".cards > li").length === 2')
        else:
            page.until('document.querySelector("#dialog .trouble")?.innerText.includes("not the token")')
            ok('Unlock' in page.text('header') and 'Lock\n' not in page.text('header') + '\n', 'after a wrong one the page is locked', page.text('header'))
            page.key('Escape')
            page.until('!document.querySelector("#dialog[open]")')
            same(page.do('[document.querySelectorAll(".cards > li").length, sessionStorage.length]'), [0, 0], 'a wrong one shows nothing, and is not kept')
    ok(True, 'with the token the devices are there')
    same(page.do('isSecureContext && location.protocol'), 'https:', 'by TLS')
    ok(token not in page.do('location.href + document.cookie + JSON.stringify(localStorage)'), 'the token is nowhere but in the tab')


def test_reader(page, url, node):
    """The token that reads alone: the page says so, and an action asks for the other one."""
    reader = node.control().ask('token_new', read=True)['token']
    acts = node.control().ask('token_show')['token']
    page.trust_all()
    page.open(url)
    page.until('document.querySelector(".banner")?.innerText.includes("token")')

    def give(button, token, submit):
        page.click_text(button, submit[0])
        page.until('document.querySelector("#dialog[open] #token")')
        page.do('document.querySelector("#token").focus()')
        page.type(token)
        page.click_text('#dialog button', submit[1])

    give('.banner button', reader, ('Give the token', 'Keep it'))
    page.until('document.querySelectorAll(".cards > li").length === 2')
    ok('reads only' in page.text('header'), 'with the token that reads the devices are there, and the page says so', page.text('header'))
    show(page, '#/tenant/left')
    give('.actions button', reader, ('Freeze …', 'Freeze'))
    page.until('document.querySelector("#dialog .trouble")?.innerText.includes("does not act")')
    ok(True, 'an action is refused with it')
    page.do('document.querySelector("#token").value = ""')
    page.do('document.querySelector("#token").focus()')
    page.type(acts)
    page.click_text('#dialog button', 'Freeze')
    page.until('!document.querySelector("#dialog[open]") && document.querySelector("main .badge.frozen")')
    page.click_text('.actions button', 'Thaw …')
    page.until('document.querySelector("#dialog[open]")')
    page.click_text('#dialog button', 'Thaw')
    page.until('document.querySelector("main .badge.idle")')
    ok('reads only' not in page.text('header'), 'with the other one it is done')
    node.control().ask('token_revoke', read=True)


def test_trends(page):
    show(page, '#/')
    page.until('document.querySelectorAll(".trends .plot canvas").length === 2')
    page.click_text('.trends .spans button', '10 min')
    page.until('location.hash.includes("span=600")')
    page.until('document.querySelector(".trends .plot[aria-label]")?.getAttribute("aria-label").includes("Promised 3 GiB")')
    ok(True, 'the node over time: what is promised and held; the time shown stands in the address')


def test_remote(page, node):
    """A program behind a wall: what goes through its worker."""
    grant = node.control().ask('grant_create', name='walled', driver='soft', devices=[{'device': '0', 'mem_bytes': GIB}], wall=True)['grant']
    client = subprocess.Popen([WALL_CLIENT, grant['wall']], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client.stdout.readline()
    client.stdin.write('p\n')
    client.stdin.flush()
    client.stdout.readline()
    show(page, '#/tenant/walled')
    page.until('/Connected now\\s*1\\s*Calls\\s*2\\b/.test(document.querySelector("[data-way=wall]")?.innerText)')
    ok(True, 'its connections, calls and bytes, by the way that it comes')
    page.until('document.querySelectorAll(".plot canvas").length === 3')
    page.until('/Received \\d.*B\\/s, Sent \\d.*B\\/s/.test(document.querySelector(".plot[aria-label^=Remote]")?.getAttribute("aria-label"))')
    ok(True, 'what goes through a second, over time')
    show(page, '#/')
    page.until('document.querySelectorAll(".trends .plot canvas").length === 3')
    ok(True, 'and of the node')
    show(page, '#/tenants?sort=-remote')
    page.until('/\\d+ (B|KiB)$/.test(document.querySelector("tr[data-key=walled]").cells[14].innerText)')
    same(page.do('[...document.querySelectorAll("tbody tr")].map((r) => r.cells[14].innerText === "–")'), [False, True, True, True],
         'the tenants by their traffic')
    client.stdin.close()
    client.wait()
    client.stdout.close()


def test_devices(page, node):
    uuid = next(d for d in node.control().ask('devices')['devices'] if d['driver'] == 'soft' and d['index'] == 1)['uuid']
    client = node.client()
    client.hello(node.control().grant('right')['socket'])
    client.hold(0, 1000)
    show(page, f'#/device/{uuid}')
    act(page, 'Cordon …', 'Cordon', 'It takes no new grants', 'a new fan')
    page.until('document.querySelector("main .badge.cordoned") && document.querySelector(".reason")?.innerText.includes("a new fan")')
    same(state(node, 1), 'cordoned', 'cordoned, with its reason')
    act(page, 'Uncordon …', 'Uncordon')
    page.until('document.querySelector("main .badge.active")')
    same(state(node, 1), 'active', 'brought back')
    act(page, 'Drain …', 'Drain', 'until its 2 tenants have left')
    page.until('document.querySelector("main .badge.draining")')
    show(page, '#/tenant/right')
    act(page, 'End …', 'End it', 'This cannot be undone')
    ok(until(lambda: client.process.poll() is not None, 30), 'its last tenant is ended')
    show(page, f'#/device/{uuid}')
    page.until('document.querySelector("main .badge.cordoned")')
    ok(True, 'then it is drained')
    act(page, 'Uncordon …', 'Uncordon')
    page.until('document.querySelector("main .badge.active")')


def test_release(page, node):
    def wild():
        return next(t for t in node.control().ask('grants')['grants'] if t['name'] == 'wild')

    for i in range(10):
        if wild()['quarantined']:
            break
        mete(node, 'run', '--grant', 'wild', '--', PROGRAM, 'device', '0', 'alloc', '4096', 'poke', '99999999999')
        until(lambda: wild()['faults'] > i, 10)
    if not ok(wild()['quarantined'], 'a tenant whose programs fault is in quarantine', wild()):
        return
    show(page, '#/tenant/wild')
    page.until('document.querySelector("main .badge.quarantined")')
    act(page, 'Release …', 'Release', 'Its quarantine ends')
    page.until('!document.querySelector("main .badge.quarantined")')
    same(wild()['quarantined'], False, 'and released')


def test_written_down(node):
    actions = [(a['action'], a['outcome']) for a in node.control().ask('audit')['actions'] if a['target'] != 'token']
    same([a for a in actions if a[0] not in ('token new', 'token revoke')][:2], [('freeze', 'done'), ('thaw', 'done')], 'what the reader could not do')
    actions = [a for a in actions if a[0] not in ('token new', 'token revoke')][2:]
    same(actions, [(a, 'done') for a in ('cordon', 'uncordon', 'drain', 'end', 'uncordon', 'release')], 'all of it is in the audit log')
    texts = [e['text'] for e in node.control().ask('events')['events'] if e['kind'] == 'action']
    ok(any(t.startswith('cordon from the console by') for t in texts), 'and among the events', texts)


def test_axe(page, node):
    path = next((p for p in AXE if p and os.path.exists(p)), None)
    if not path:
        skip('axe-core', 'it is not installed; METE_AXE says where it is')
        return
    with open(path, encoding='utf-8') as file:
        page.do(file.read() + '; 0')
    uuid = next(d for d in node.control().ask('devices')['devices'] if d['driver'] == 'soft')['uuid']
    views = ('#/', '#/devices', '#/tenants', '#/events', f'#/device/{uuid}', '#/tenant/left', '#/tenant/walled', '#/tenants?q=nobody', '#/tenant/gone')
    for dark in (False, True):
        page.dark(dark)
        for where in views:
            show(page, where)
            same(page.do(JUDGE), [], f'axe-core on {where.split("-")[0]}, {"dark" if dark else "light"}')
        show(page, '#/tenant/left')
        page.click_text('.actions button', 'Resize …')
        page.until('document.querySelector("#dialog[open]")')
        same(page.do(JUDGE), [], 'axe-core on a dialog')
        page.key('Escape')
        page.until('!document.querySelector("#dialog[open]")')
    page.dark(False)


node, token, url = secure_node()
chrome = browser.Browser()
try:
    page = chrome.page()
    page.size(1440, 900)
    page.dark(False)
    reader = chrome.page()
    test_reader(reader, url, node)
    reader.ask('Page.close')
    test_token(page, url, token)
    test_trends(page)
    test_remote(page, node)
    test_devices(page, node)
    test_release(page, node)
    test_written_down(node)
    test_axe(page, node)
    same([c for c in page.complaints() if '401' not in c], [], 'the page complains of nothing')
finally:
    chrome.close()
node.close()
finish()
