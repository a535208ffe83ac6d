"""
A headless Chromium, spoken to over the DevTools protocol with nothing but Python's standard library: two pipes (descriptors
3 and 4 of the browser), one JSON object per message, ended by a NUL. No port is opened, no package is needed.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ('chromium', 'chromium-browser', 'google-chrome')
OPTIONS = ('--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--no-first-run', '--disable-gpu', '--disable-extensions',
           '--disable-background-networking', '--disable-component-update', '--disable-dev-shm-usage', '--hide-scrollbars',
           '--disable-background-timer-throttling', '--disable-renderer-backgrounding', '--force-device-scale-factor=1',
           '--lang=en', '--no-proxy-server')
PATIENCE_S = 90


def find():
    """Value: the browser's path; None: there is none."""
    return next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    def __init__(self, width=1440, height=900):
        self.folder = tempfile.mkdtemp(prefix='mete-browser-', dir='/tmp')
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def place():
            # Through high numbers, so that neither overwrites the other.
            a, b = os.dup2(to_read, 103), os.dup2(from_write, 104)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [find(), *OPTIONS, f'--window-size={width},{height}', f'--user-data-dir={self.folder}', 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3, 4), preexec_fn=place,
            start_new_session=True, env={**os.environ, 'HOME': self.folder, 'TZ': 'UTC'})
        os.close(to_read)
        os.close(from_write)
        self.poll = select.poll()
        self.poll.register(self.from_read, select.POLLIN)
        self.text = b''
        self.serial = 0
        self.events = []

    def send(self, method, session=None, **params):
        self.serial += 1
        message = {'id': self.serial, 'method': method, 'params': params}
        if session:
            message['sessionId'] = session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.to_write, data):]
        return self.serial

    def receive(self, end):
        """The next message; None when the time is over."""
        while b'\0' not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not self.poll.poll(left * 1000):
                return None
            data = os.read(self.from_read, 1 << 20)
            if not data:
                raise RuntimeError('the browser has ended')
            self.text += data
        line, self.text = self.text.split(b'\0', 1)
        return json.loads(line)

    def ask(self, method, session=None, **params):
        serial = self.send(method, session, **params)
        end = time.monotonic() + PATIENCE_S
        while True:
            message = self.receive(end)
            if message is None:
                raise RuntimeError(f'the browser does not answer {method}')
            if message.get('id') == serial:
                if 'error' in message:
                    raise RuntimeError(f'{method}: {message["error"]}')
                return message['result']
            if 'method' in message:
                self.events.append(message)

    def page(self):
        return Page(self)

    def close(self):
        if self.process.poll() is None:
            try:
                self.send('Browser.close')
                self.process.wait(10)
            except (OSError, subprocess.TimeoutExpired):
                self.process.kill()
        self.process.wait()
        os.close(self.to_write)
        os.close(self.from_read)
        shutil.rmtree(self.folder, ignore_errors=True)


KEYS = {'Enter': 13, 'Escape': 27, 'ArrowDown': 40, 'ArrowUp': 38, 'Tab': 9}


class Page:
    """A tab with a storage of its own."""

    def __init__(self, browser):
        self.browser = browser
        context = browser.ask('Target.createBrowserContext')['browserContextId']
        self.target = browser.ask('Target.createTarget', url='about:blank', browserContextId=context)['targetId']
        self.session = browser.ask('Target.attachToTarget', targetId=self.target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.ask(f'{domain}.enable')

        self.ask('Performance.enable', timeDomain='threadTicks')

    def ask(self, method, **params):
        return self.browser.ask(method, self.session, **params)

    def computed_ms(self):
        """What the page's main thread has computed since the page was made."""
        return 1000 * next(m['value'] for m in self.ask('Performance.getMetrics')['metrics'] if m['name'] == 'TaskDuration')

    def size(self, width, height):
        self.ask('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, on):
        self.ask('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if on else 'light'}])

    def trust_all(self):
        """Certificates are not looked at."""
        self.ask('Security.setIgnoreCertificateErrors', ignore=True)

    def open(self, url):
        self.ask('Page.navigate', url=url)

    def do(self, script):
        """Runs JavaScript; the value of its last expression, promises waited for."""
        result = self.ask('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise AssertionError(f'{script}: {result["exceptionDetails"].get("exception", {}).get("description")}')
        return result['result'].get('value')

    def until(self, script, seconds=PATIENCE_S):
        """Waits until the value of an expression is true; the value. An element has none, and counts as true."""
        end = time.monotonic() + seconds
        while True:
            value = self.do(f'(async () => {{ const v = await ({script}); return v instanceof Node ? true : v; }})()')
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f'not within {seconds} s: {script}\n{self.do("document.body.innerText")[:2000]}')
            time.sleep(0.03)

    def text(self, selector='body'):
        return self.do(f'document.querySelector({json.dumps(selector)})?.innerText ?? ""')

    def click(self, selector):
        """With the mouse, in the middle of the first element that is like this."""
        self.until(f'document.querySelector({json.dumps(selector)})')
        # Once it is where it stays: two frames later it is still there, and nothing is above it.
        place = self.until(
            f'(async () => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;'
            ' e.scrollIntoView({block: "center"}); const at = () => e.getBoundingClientRect(); const r = at();'
            ' await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)));'
            ' const x = r.x + r.width / 2, y = r.y + r.height / 2, hit = document.elementFromPoint(x, y);'
            ' return at().x === r.x && at().y === r.y && hit && (e.contains(hit) || hit.contains(e)) ? [x, y] : null; })()')
        for kind in ('mousePressed', 'mouseReleased'):
            self.ask('Input.dispatchMouseEvent', type=kind, x=place[0], y=place[1], button='left', clickCount=1)

    def click_text(self, selector, text):
        """The first element of that kind that says this."""
        self.until(f'(() => {{ const e = [...document.querySelectorAll({json.dumps(selector)})]'
                   f'.find((e) => e.innerText.trim() === {json.dumps(text)});'
                   ' document.querySelectorAll("[data-test]").forEach((x) => x.removeAttribute("data-test"));'
                   ' e?.setAttribute("data-test", "1"); return !!e; })()')
        self.click('[data-test]')

    def hover(self, selector):
        place = self.do(f'(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();'
                        ' return [r.x + r.width / 2, r.y + r.height / 2]; })()')
        self.ask('Input.dispatchMouseEvent', type='mouseMoved', x=place[0], y=place[1])

    def type(self, text):
        self.ask('Input.insertText', text=text)

    def key(self, key):
        code = KEYS.get(key, ord(key[0].upper()) if len(key) == 1 else 0)
        text = key if len(key) == 1 else '\r' if key == 'Enter' else ''
        self.ask('Input.dispatchKeyEvent', type='keyDown', key=key, windowsVirtualKeyCode=code, **({'text': text} if text else {}))
        self.ask('Input.dispatchKeyEvent', type='keyUp', key=key, windowsVirtualKeyCode=code)

    def picture(self, path, width=None, height=None):
        clip = {'clip': {'x': 0, 'y': 0, 'width': width, 'height': height, 'scale': 1}} if width else {}
        data = self.ask('Page.captureScreenshot', format='png', **clip)['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """What the console of the page says against it: errors, exceptions, what its own policy of content forbids."""
        self.do('0')
        found = []
        for e in self.browser.events:
            if e.get('sessionId') != self.session:
                continue
            if e['method'] == 'Runtime.exceptionThrown':
                found.append(e['params']['exceptionDetails'].get('exception', {}).get('description') or str(e['params']))
            elif e['method'] == 'Log.entryAdded' and e['params']['entry']['level'] == 'error':
                found.append(f"{e['params']['entry']['text']} {e['params']['entry'].get('url', '')}")
        return found

    def wire_bytes(self):
        """What came over the wire for this page until now: heads and compressed bodies."""
        self.do('0')
        return sum(e['params']['encodedDataLength'] for e in self.browser.events
                   if e.get('sessionId') == self.session and e['method'] == 'Network.loadingFinished')
