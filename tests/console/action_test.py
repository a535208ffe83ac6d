"""The console without a browser: its files, its token, what may be done with it, and the audit log."""
import gzip
import re
import stat

from node import *

SOURCE = os.path.abspath(sys.argv[2])
if without_http():
    skip('the console', 'built without HTTP')
    finish()


def error_of(answer):
    return json.loads(answer[2])['error']


def test_files(node):
    status, headers, page = node.request('GET', '/')
    same((status, headers['Content-Type']), (200, 'text/html; charset=utf-8'), 'the page')
    named = re.findall(r'(?:src|href)="(console/[^"]+)"', page.decode())
    same(sorted(named), [f'console/{n}' for n in ('console.css', 'console.js', 'first.js', 'icon.svg')], 'it names its files')
    for name in named + ['console/uplot.js', 'console/uplot.css']:
        status, headers, plain = node.request('GET', f'/{name}')
        packed = node.request('GET', f'/{name}', **{'Accept-Encoding': 'gzip'})
        good = (status == 200 and packed[1].get('Content-Encoding') == 'gzip' and gzip.decompress(packed[2]) == plain
                and node.request('GET', f'/{name}', **{'If-None-Match': headers['ETag']})[0] == 304)
        ok(good, f'{name}: plain, compressed, and not again', status, headers, packed[1])
    with open(os.path.join(SOURCE, 'src/console/first.js'), 'rb') as file:
        same(node.request('GET', '/console/first.js')[2], file.read(), 'a file is what stands in the sources')
    same(node.request('GET', '/console/../mete.db')[0], 404, 'no file of the machine')
    same(node.request('GET', '/console/none.js')[0], 404, 'no file that there is not')


def test_token(node):
    path = '/api/v1/tenants/a/freeze'
    ok('mete token new' in error_of(node.request('POST', path)), 'without a token there is nothing to be done')
    token = node.token()
    ok(re.fullmatch('[0-9a-f]{64}', token), 'a token', token)
    mode = stat.S_IMODE(os.stat(os.path.join(node.dir, 'console.token')).st_mode)
    same(mode, 0o600, 'for its owner alone')
    for given in (None, '', token[:-1], token + '0', token.upper() + ' ', 'x' * 5000):
        status = node.request('POST', path, token=given)[0]
        ok(status in (400, 401, 431), f'not with {str(given)[:20]!r}', status)
    same(node.grant_state('a'), 'running', 'nothing was done')
    second = node.token()
    same([node.request('POST', path, token=t)[0] for t in (token, second)], [401, 200], 'a new one makes the old one void')
    os.chmod(os.path.join(node.dir, 'console.token'), 0o644)
    same(node.request('POST', path, token=second)[0], 401, 'one that others can read is none')
    os.chmod(os.path.join(node.dir, 'console.token'), 0o600)
    control = node.control()
    same(control.ask('token_show')['token'], second, 'it can be shown')
    control.ask('token_revoke')
    ok('mete token new' in control.ask('token_show')['error'], 'and taken back')
    control.close()
    same(node.request('POST', path, token=second)[0], 401, 'then nobody may act')


def test_reader(node):
    """The token that reads and never acts."""
    control = node.control()
    reader, acts = control.ask('token_new', read=True)['token'], control.ask('token_new')['token']
    ok(reader != acts and re.fullmatch('[0-9a-f]{64}', reader), 'another secret', reader)
    same(stat.S_IMODE(os.stat(os.path.join(node.dir, 'reader.token')).st_mode), 0o600, 'for its owner alone')
    may = lambda token: json.loads(node.request('GET', '/api/v1/token', token=token)[2])['may']
    same([may(t) for t in (acts, reader, 'f' * 64, None)], ['act', 'read', 'nothing', 'nothing'], 'what each lets do is told')
    before, state = len(node.audit()), node.grant_state('a')
    for path in ('tenants/a/thaw', 'tenants/a/end', 'devices/0/cordon'):
        answer = node.request('POST', f'/api/v1/{path}', None, reader)
        ok(answer[0] == 403 and 'mete token show' in error_of(answer), f'{path}: not with that one', answer)
    same((node.grant_state('a'), len(node.audit())), (state, before), 'and nothing was done')
    same(node.request('GET', '/metrics', token=reader)[0], 200, 'it reads')
    control.ask('token_revoke', read=True)
    same([may(reader), may(acts)], ['nothing', 'act'], 'it is taken back without the other one')
    control.ask('token_revoke')
    ok('--read' in control.ask('token_show', read=True)['error'], 'and is asked for by its words')
    control.close()


def test_actions(node):
    token = node.token()

    def post(path, body=None):
        return node.request('POST', f'/api/v1/{path}', body, token)

    same(post('tenants/a/thaw')[0], 200, 'thaw')
    same(node.grant_state('a'), 'running', 'it runs')
    same(post('tenants/a/freeze')[0], 200, 'freeze')
    same(node.grant_state('a'), 'frozen', 'it is frozen')
    same(post('tenants/a/resize', {'devices': [{'device': '0', 'mem_bytes': 2 * GIB, 'cores': 20}]})[0], 200, 'resize')
    control = node.control()
    same([control.share('a')[k] for k in ('quota_bytes', 'cores')], [2 * GIB, 20], 'as it was asked')
    for path, body, status, part in (
            ('tenants/a/resize', {'devices': [{'device': '0', 'mem_bytes': 1 << 50}]}, 409, 'ask for less'),
            ('tenants/a/resize', {'devices': [{'device': '9', 'mem_bytes': GIB}]}, 404, 'device 9'),
            ('tenants/a/resize', {'devices': []}, 400, 'at least one'),
            ('tenants/a/resize', b'[1', 400, 'JSON'), ('tenants/a/resize', b'[]', 400, 'JSON object'),
            ('tenants/a/resize', {'op': 'stop'}, 400, 'knows no'), ('tenants/a/freeze', {'name': 'b'}, 400, 'knows no'),
            ('tenants/nobody/end', None, 404, 'mete ps'), ('tenants/a/explode', None, 404, 'explode'),
            ('devices/0/explode', None, 404, 'explode')):
        answer = post(path, body)
        ok(answer[0] == status and part in error_of(answer), f'{path} {body} is refused with {status}', answer)
    same(control.share('a')['quota_bytes'], 2 * GIB, 'what was refused was not done')
    control.close()
    return token


def test_devices(node, token):
    def state():
        return next(d for d in node.get('/api/v1/node')['devices'] if d['index'] == 1)['state']

    if node.request('POST', '/api/v1/devices/1/cordon', {'reason': 'a new fan'}, token)[0] == 501:
        skip('devices', 'this meted does not take devices out')
        return
    same(state(), 'cordoned', 'cordon')
    same(node.request('POST', '/api/v1/devices/77/cordon', None, token)[0], 404, 'a device that is none')
    node.request('POST', '/api/v1/devices/1/uncordon', None, token)
    same(state(), 'active', 'uncordon')


def test_end(node, token):
    client = node.client()
    control = node.control()
    client.hello(control.grant('b')['socket'])
    client.hold(0, 1000)
    same(node.request('POST', '/api/v1/tenants/b/end', None, token)[0], 200, 'end')
    ok(until(lambda: client.process.poll() is not None, 30), 'its process ends')
    ok(until(lambda: control.grant('b') is None, 30), 'its grant is deleted')
    same(node.request('POST', '/api/v1/tenants/b/end', None, token)[0], 404, 'then it is not there')
    control.close()


def test_audit(node, token):
    actions = node.audit()
    found = [(a['action'], a['target'], a['outcome']) for a in actions]
    ok(('freeze', 'a', 'done') in found and ('end', 'b', 'done') in found, 'what was done is written down', found)
    ok(any(a == 'resize' and 'ask for less' in o for a, _, o in found), 'and what was refused', found)
    resized = next(a for a in actions if a['action'] == 'resize')
    same(resized['request'], {'devices': [{'device': '0', 'mem_bytes': 2 * GIB, 'cores': 20}]}, 'with what was asked')
    ok(resized['who'].startswith(f'uid {os.getuid()}, 127.0.0.1:'), 'and by whom', resized)
    with open(os.path.join(node.dir, 'audit.log'), encoding='utf-8') as file:
        text = file.read()
    ok(token not in text, 'the token is not in it')
    same(len(text.splitlines()), 2 * len(actions), 'two lines for each')
    events = node.get('/api/v1/events')['events']
    ok(any(e['kind'] == 'action' and f'resize from the console by uid {os.getuid()}' in e['text'] for e in events), 'it is an event as well')


def test_no_room(node, token):
    log = os.path.join(node.dir, 'audit.log')
    before = len(node.audit())
    answer = node.request('POST', '/api/v1/devices/0/cordon', {'reason': 'x' * 20000}, token)
    ok(answer[0] == 413 and 'too long' in error_of(answer), 'what is too long to be written down', answer)
    answer = node.request('POST', '/api/v1/devices/%FF/cordon', {}, token)
    ok(answer[0] == 404 and 'no device' in error_of(answer), 'a name that is no text', answer)
    same(len(node.audit()), before, 'neither is an action')
    with open(log, 'a', encoding='utf-8') as file:
        file.write('{"id": 5, "half a li')
    same(node.request('POST', '/api/v1/tenants/a/thaw', None, token)[0], 200, 'half a line of before is no obstacle')
    ok(node.audit()[-1]['action'] == 'thaw', 'nor when it is read')
    os.rename(log, log + '.moved')
    os.mkdir(log)
    answer = node.request('POST', '/api/v1/tenants/a/freeze', None, token)
    ok(answer[0] == 507 and 'nothing was done' in error_of(answer), 'what cannot be written down', answer)
    same(node.grant_state('a'), 'running', 'is not done')
    os.rmdir(log)
    same(node.request('POST', '/api/v1/tenants/a/freeze', None, token)[0], 200, 'a log that was moved away begins anew')
    same(len(node.audit()), 1, 'with what was done since')


class OurNode(Node):
    def grant_state(self, name):
        control = self.control()
        frozen = control.share(name)['frozen']
        control.close()
        return 'frozen' if frozen else 'running'


node = OurNode()
node.make('a', devices=[{'device': '0', 'mem_bytes': GIB, 'cores': 10}])
node.make('b', devices=[{'device': '1', 'mem_bytes': GIB, 'cores': 10}])
test_files(node)
test_token(node)
test_reader(node)
token = test_actions(node)
test_devices(node, token)
test_end(node, token)
test_audit(node, token)
test_no_room(node, token)
node.close()
finish()
