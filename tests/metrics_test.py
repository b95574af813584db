#!/usr/bin/env python3
"""metrics_test.py: what a job serves with --metrics: Prometheus text, health, events, the live page.

usage: tests/metrics_test.py [CASE]       SBC names the compiler.
       tests/metrics_test.py --shots DIR  writes the screenshots of docs/operating.md instead.

Prometheus text is checked by rules of its own, and by promtool where that is installed. The page runs in
Chromium where that is installed.
"""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SBC = os.environ.get("SBC", str(ROOT / "zig-out/bin/sbc"))

PIPELINE = """\
param rows: i64 = 100000
let decoded = range(rows)
| repartition rows 100
| where hold(1ms)
| derive x = repeat("secret", 200)
let labelled = decoded
| with (accel = 1) { where x != "secret" | where hold(2ms, 10) | derive h = hash(x) % 97 + 1 }
labelled | derive p = 1000 // (h - h) else reject | write csv("bad.csv")
labelled | group by h { count = count() } | sort count desc | write csv("counts.csv")
rejects write jsonl("rejects.jsonl") limit 100%
"""


class Skip(Exception):
    pass


# ---- a job that serves -----------------------------------------------------------------------------


class Job:
    """A job at work in `folder`, until the block ends."""

    def __init__(self, folder, *options):
        self.folder = folder
        command = ["./job", "--threads=2", "--resource=accel=2", "--progress=none", "--overwrite", *options]
        if not any(option.startswith("--metrics") for option in options):
            command.append("--metrics=0")
        self.process = subprocess.Popen(
            command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )

    def __enter__(self):
        line = self.process.stderr.readline()
        found = re.fullmatch(r"metrics at http://(.*):(\d+)/\n", line)
        assert found, line
        self.host, self.port = found[1].strip("[]"), int(found[2])
        self.url = line.split()[-1]
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=20)

    def ask(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=10)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def raw(self, request):
        """What comes back for these bytes, until the job closes the connection."""
        with socket.create_connection((self.host, self.port), timeout=15) as connection:
            connection.sendall(request)
            got = b""
            try:
                while part := connection.recv(65536):
                    got += part
            except ConnectionResetError:
                pass
            return got

    def rejects(self):
        """Has it rejected rows?"""
        return re.search(r"^sbc_job_rejected_rows_total [1-9]", self.ask("/metrics")[2], re.M)

    def events(self, count):
        """The first events of the stream, as (name, object)."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=10)
        connection.request("GET", "/events")
        answer = connection.getresponse()
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
        found = []
        while len(found) < count:
            name, data, end = (answer.readline().decode().rstrip("\n") for _ in range(3))
            assert name.startswith("event: ") and data.startswith("data: ") and end == ""
            found.append((name[7:], json.loads(data[6:])))
        answer.close()
        connection.close()
        return found


def wait_until(holds, seconds=20):
    """Until holds() is true; returns that."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)
    return found


def is_closed(connection):
    """By the other end, which sent nothing."""
    try:
        return connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


# ---- the cases -------------------------------------------------------------------------------------


def check_prometheus(text):
    """The rules of the exposition format, and of good names. Returns the samples by name."""
    name, label = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"'
    sample = re.compile(rf"({name})(?:\{{({label}(?:,{label})*)\}})? (\S+)")
    assert text.endswith("\n")
    helped, types, samples, seen = set(), {}, {}, set()
    for line in text.splitlines():
        if found := re.fullmatch(rf"# HELP ({name}) (\S.*)", line):
            assert found[1] not in helped, f"two HELP of {found[1]}"
            helped.add(found[1])
        elif found := re.fullmatch(rf"# TYPE ({name}) (counter|gauge)", line):
            assert found[1] in helped and found[1] not in types, line
            assert (found[2] == "counter") == found[1].endswith("_total"), line
            types[found[1]] = found[2]
        else:
            found = sample.fullmatch(line)
            assert found and found[1] in types, line
            assert list(types)[-1] == found[1], f"{found[1]} is not in one group"
            assert (found[1], found[2]) not in seen, f"twice: {line}"
            seen.add((found[1], found[2]))
            assert float(found[3]) >= 0
            samples.setdefault(found[1], {})[found[2] or ""] = float(found[3])
    assert set(samples) == set(types) == helped
    return samples


def prometheus(folder):
    with Job(folder) as job:
        wait_until(job.rejects)
        status, headers, text = job.ask("/metrics")
        assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        first, second = check_prometheus(text), check_prometheus(job.ask("/metrics")[2])
    stages = [labels for labels in first["sbc_stage_rows_in_total"]]
    assert stages[0] == 'stage="0",name="range(rows)"', stages
    assert first["sbc_resource_supply"] == {'resource="cpus"': 2, 'resource="accel"': 2}
    assert 0 < first["sbc_job_memory_bytes"][""] <= first["sbc_job_memory_peak_bytes"][""]
    assert first["sbc_job_rejected_rows_total"][""] > 0
    assert first["sbc_stage_rows_in_total"][stages[0]] > 0
    # Counters never fall, and the states of a stage add up to the time.
    for name, values in first.items():
        if name.endswith("_total"):
            assert all(second[name][labels] >= value for labels, value in values.items()), name
    states = first["sbc_stage_state_seconds_total"]
    sums = [sum(value for labels, value in states.items() if labels.startswith(stage)) for stage in stages]
    assert all(abs(total - first["sbc_job_elapsed_seconds"][""]) < 0.1 for total in sums), sums
    # Labels are quoted.
    assert any(r"\"secret\"" in labels for labels in stages), stages
    if shutil.which("promtool"):
        check = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
        assert check.returncode == 0 and not check.stdout + check.stderr, check.stdout + check.stderr
    else:
        raise Skip("promtool (prometheus) is not installed; the rules of the format hold")


def answers(folder):
    with Job(folder) as job:
        status, headers, text = job.ask("/healthz")
        assert (status, text) == (200, "ok\n")
        status, headers, text = job.ask("/")
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
        assert text == (ROOT / "runtime/main/page.html").read_text()
        # Nothing from outside: neither asked for nor allowed.
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?(https?:)?//""", text)
        assert job.ask("/", method="HEAD")[2] == ""
        assert job.ask("/?x=1")[0] == 200
        assert job.ask("/nothing")[0] == 404
        assert job.ask("/metrics", method="POST")[0] == 405
        # A page from elsewhere cannot reach it under a name of its own.
        assert job.ask("/metrics", Host="example.com")[0] == 403
        assert job.ask("/metrics", Host="127.0.0.1.example.com")[0] == 403
        assert job.ask("/metrics", Host="localhost:1")[0] == 200


def bad_requests(folder):
    with Job(folder) as job:
        for request in [b"x\r\n\r\n", b"GET\r\n\r\n", b"GET metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\0\0 /\r\n\r\n"]:
            assert job.raw(request).startswith(b"HTTP/1.1 400 "), request
        assert job.raw(b"GET / HTTP/1.1\r\nX: " + b"x" * 20000).startswith(b"HTTP/1.1 431 ")
        # In pieces, and more behind it.
        with socket.create_connection((job.host, job.port)) as connection:
            for piece in [b"GET /hea", b"lthz HTTP/1.1\r\nHo", b"st: localhost\r\n", b"\r\nGET / HTTP/1.1\r\n\r\n"]:
                connection.sendall(piece)
                time.sleep(0.05)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")
        # Many that say nothing do not keep others out once they have left; more than 64 are turned away.
        idle = [socket.create_connection((job.host, job.port)) for _ in range(72)]
        wait_until(lambda: sum(is_closed(connection) for connection in idle) == 8)
        for connection in idle:
            connection.close()
        wait_until(lambda: job.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    # Those that say nothing are cut off in time.
    with Job(folder) as job:
        begun = time.monotonic()
        assert job.raw(b"GET /") == b"" and 9 < time.monotonic() - begun < 14


def event_head(job):
    """The first line that a new reader of the events gets."""
    with socket.create_connection((job.host, job.port), timeout=10) as connection:
        connection.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection.recv(4096).split(b"\r\n")[0]


def events(folder):
    with Job(folder) as job:
        wait_until(job.rejects)
        (first, graph), *rest = job.events(4)
    assert first == "graph" and [name for name, _ in rest] == ["now"] * 3
    assert len(graph["stages"]) >= 4 and graph["job"].endswith("job.sbd")
    assert {"from": 0, "to": 1, "kind": "rows"} in graph["edges"]
    assert any(edge["kind"] == "table" for edge in graph["edges"])
    now = [data for _, data in rest]
    assert all(len(at["stages"]) == len(graph["stages"]) and len(at["slots"]) == 4 for at in now)
    assert now[0]["seconds"] < now[1]["seconds"] < now[2]["seconds"]
    assert now[2]["stages"][0]["rows_in"] > now[0]["stages"][0]["rows_in"]
    # Work is told once, and each piece is over.
    spans = [tuple(span) for at in now[1:] for span in at["spans"] if span[3] < span[4]]
    assert spans and len(set(spans)) == len(spans)
    assert all(begin <= end <= now[2]["seconds"] + 0.01 for _, _, _, begin, end in spans)
    assert {work for _, _, work, _, _ in spans} >= {"task"}
    # More readers than are served leave the other paths to be asked.
    with Job(folder) as job:
        readers = [socket.create_connection((job.host, job.port), timeout=10) for _ in range(40)]
        for reader in readers:
            reader.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        heads = [reader.recv(4096).split(b"\r\n")[0] for reader in readers]
        assert heads.count(b"HTTP/1.1 200 OK") == 32, heads
        assert heads.count(b"HTTP/1.1 503 Service Unavailable") == 8, heads
        assert job.ask("/healthz")[0] == 200 and job.ask("/metrics")[0] == 200
        for reader in readers:
            reader.close()
        wait_until(lambda: b"200 OK" in event_head(job))
    # No value of a cell without --show-rows.
    assert all("rejected_rows" not in at and at["rejected"] > 0 for at in now)
    with Job(folder, "--show-rows") as job:
        wait_until(job.rejects)
        rows = job.events(2)[1][1]["rejected_rows"]
    assert 0 < len(rows) <= 8 and all(re.fullmatch(r'division by zero: \{"i":\d+\}', row) for row in rows), rows


def addresses(folder):
    with Job(folder, "--metrics=localhost:0") as job:
        assert job.host == "127.0.0.1" and job.ask("/healthz")[0] == 200
        taken = subprocess.run(
            ["./job", "--resource=accel=2", "--overwrite", f"--metrics={job.port}"], cwd=folder, capture_output=True, text=True
        )
        assert taken.returncode == 2 and "error[SB8065]: cannot serve at" in taken.stderr, taken.stderr
    with Job(folder, "--metrics=0.0.0.0:0") as job:
        assert job.host == "0.0.0.0" and job.ask("/healthz", Host="any.example")[0] == 200
    if socket.has_ipv6 and Path("/proc/net/if_inet6").exists() and "lo" in Path("/proc/net/if_inet6").read_text():
        with Job(folder, "--metrics=[::1]:0") as job:
            assert job.host == "::1" and job.ask("/healthz")[0] == 200
    for wrong in ["x", "", "70000", "-1", "host:80", "1.2.3:80", "[::1:80", "80:", "[]:80"]:
        said = subprocess.run(["./job", "--resource=accel=2", f"--metrics={wrong}"], cwd=folder, capture_output=True, text=True)
        assert said.returncode == 2 and f"--metrics={wrong}: '{wrong}' is no address" in said.stderr, said.stderr
    said = subprocess.run(
        ["./job", "--resource=accel=2", "--overwrite", "--rows=100", "--metrics=0", "--log=json"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    lines = [json.loads(line) for line in said.stderr.splitlines()]
    assert [line["event"] for line in lines[:2]] == ["start", "metrics"], lines[:2]
    assert lines[1]["url"].startswith("http://127.0.0.1:"), lines[1]


# ---- the page --------------------------------------------------------------------------------------


class Browser:
    """Chromium without a window, driven over its debugging protocol."""

    def __init__(self, *options):
        found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not found:
            raise Skip("chromium is not installed")
        self.folder = tempfile.mkdtemp()
        self.process = subprocess.Popen(
            [found, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run",
             "--disable-dev-shm-usage", f"--user-data-dir={self.folder}", "--window-size=1100,1000", *options, "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.next = 0
        self.told = []

    def __enter__(self):
        port_file = Path(self.folder) / "DevToolsActivePort"
        for _ in range(200):
            if port_file.exists() and port_file.read_text().count("\n"):
                break
            time.sleep(0.1)
        port = int(port_file.read_text().split()[0])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/json")
        pages = json.loads(connection.getresponse().read())
        path = urllib.parse.urlparse(next(at for at in pages if at["type"] == "page")["webSocketDebuggerUrl"]).path
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.stream = self.socket.makefile("rb")
        while self.stream.readline() != b"\r\n":
            pass
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self):
        """One message: frames of a server are not masked."""
        message = b""
        while True:
            first, second = self.stream.read(2)
            length = second & 127
            if length >= 126:
                length = struct.unpack(*((">H", self.stream.read(2)) if length == 126 else (">Q", self.stream.read(8))))[0]
            message += self.stream.read(length)
            if first & 128:
                return json.loads(message)

    def call(self, method, **params):
        self.next += 1
        data = json.dumps({"id": self.next, "method": method, "params": params}).encode()
        mask = os.urandom(4)
        length = struct.pack(">BH", 254, len(data)) if len(data) > 125 else struct.pack(">B", 128 | len(data))
        self.socket.sendall(b"\x81" + length + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))
        while True:
            message = self.receive()
            if message.get("id") == self.next:
                assert "error" not in message, message
                return message["result"]
            self.told.append(message)

    def ask(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression, seconds=20):
        end = time.monotonic() + seconds
        while not self.ask(expression):
            assert time.monotonic() < end, f"never: {expression}"
            time.sleep(0.1)

    def shot(self, path):
        height = self.ask("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": 1100, "height": height, "scale": 1}
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        Path(path).write_bytes(base64.b64decode(image["data"]))

    def complaints(self):
        """Errors of the page and what it asked for."""
        errors = [at for at in self.told if at.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
        urls = [at["params"]["request"]["url"] for at in self.told if at.get("method") == "Network.requestWillBeSent"]
        return errors, urls


def workers(folder):
    """What is served of worker processes, one of which is lost."""
    with Job(folder, "--workers=2", "--memory=400MiB") as job:
        wait_until(lambda: [w["phase"] for w in job.events(2)[1][1]["workers"]] == ["works", "works"])
        now = job.events(2)[1][1]
        assert [w["worker"] for w in now["workers"]] == [1, 2]
        assert [slot["worker"] for slot in now["slots"]] == [0] * (len(now["slots"]) - 4) + [1, 1, 2, 2], now["slots"]
        wait_until(lambda: all(w["partitions"] > 0 for w in job.events(2)[1][1]["workers"]))
        lost = job.events(2)[1][1]["workers"][0]
        assert lost["pid"] > 0
        os.kill(lost["pid"], signal.SIGKILL)
        wait_until(lambda: job.events(2)[1][1]["workers"][0]["restarts"] == 1)
        new = job.events(2)[1][1]["workers"]
        assert new[0]["losses"] == 1 and new[0]["pid"] not in (0, lost["pid"]) and new[1]["losses"] == 0, new
        assert new[0]["partitions"] >= lost["partitions"] and 0 < new[0]["memory"] <= new[0]["limit"], new
        # The limit is what the job was given; each process has its share of it.
        now = job.events(2)[1][1]
        shares = now["memory_own_limit"] + sum(w["limit"] for w in now["workers"])
        assert now["memory_limit"] == 400 << 20 and 0 < shares <= now["memory_limit"], now
        assert 0 < now["memory_own"] < now["memory"] <= now["memory_limit"], now
        samples = check_prometheus(job.ask("/metrics")[2])
        assert samples["sbc_job_memory_limit_bytes"][""] == 400 << 20
        assert samples["sbc_job_own_memory_limit_bytes"][""] == now["memory_own_limit"]
        assert samples["sbc_worker_memory_limit_bytes"]['worker="2"'] == now["workers"][1]["limit"]
        assert samples["sbc_worker_verdicts_total"] == {'worker="1"': 0, 'worker="2"': 0}
        assert samples["sbc_worker_losses_total"] == {'worker="1"': 1, 'worker="2"': 0}
        assert samples["sbc_worker_partitions_total"]['worker="2"'] > 0
        wait_until(lambda: check_prometheus(job.ask("/metrics")[2])["sbc_worker_up"]['worker="1"'] == 1)
    with Job(folder) as job:
        assert "workers" not in job.events(2)[1][1] and "sbc_worker" not in job.ask("/metrics")[2]
    with Browser() as browser, Job(folder, "--workers=2") as job:
        browser.call("Page.navigate", url=job.url)
        browser.wait("document.querySelectorAll('#workers tr').length === 4")
        assert not browser.ask("document.getElementById('crew').hidden")
        browser.wait("document.querySelector('#workers').textContent.includes('takes tasks')")


def page(folder):
    with Browser() as browser, Job(folder) as job:
        browser.call("Page.navigate", url=job.url)
        browser.wait("Number(document.body?.dataset.updates ?? 0) >= 10")
        stages = browser.ask("[...document.querySelectorAll('#graph g.stage')].map(g => g.textContent)")
        assert len(stages) >= 4 and "range(rows)" in stages[0] and "/2 running" in stages[0], stages
        states = browser.ask("[...document.querySelectorAll('#graph g.stage')].map(g => g.dataset.state)")
        assert "busy" in states, states
        edges = browser.ask("document.querySelectorAll('#graph path').length")
        assert edges >= len(stages) - 1, edges
        rows = browser.ask("[...document.querySelectorAll('#stages tr')].map(r => r.cells.length)")
        assert rows == [9] * (len(stages) + 1), rows
        assert re.match(r"[0-9.]+ s, .* rows, .* rejected", browser.ask("document.getElementById('head').textContent"))
        # Something is drawn: pixels of the slots in the colour of a stage, of the memory under its line.
        drawn = """(id => { const c = document.getElementById(id);
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })"""
        assert browser.ask(f"{drawn}('slots')") > 200 and browser.ask(f"{drawn}('memory')") > 200
        assert browser.ask("document.getElementById('rejects').hidden")
        assert "division by zero" not in browser.ask("document.body.innerText")
        errors, urls = browser.complaints()
        assert not errors, errors
        assert all(url.startswith((job.url, "about:")) for url in urls), urls
        job.process.send_signal(signal.SIGINT)
        job.process.wait(20)
        browser.wait("document.getElementById('head').textContent.endsWith('the job has ended')")
    with Browser("--force-dark-mode") as browser, Job(folder, "--show-rows") as job:
        browser.call("Page.navigate", url=job.url)
        browser.wait("document.getElementById('rejected')?.textContent.includes('division by zero')")
        assert not browser.ask("document.getElementById('rejects').hidden")


def shots(folder, target):
    for name, scheme in (("page", "light"), ("page-dark", "dark")):
        with Browser() as browser, Job(folder, "--memory=64MiB") as job:
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser.call("Page.navigate", url=job.url)
            browser.wait("Number(document.body?.dataset.updates ?? 0) >= 60", 60)
            browser.shot(Path(target) / f"{name}.png")


# ---- the suite -------------------------------------------------------------------------------------


def main():
    cases = [prometheus, answers, bad_requests, events, addresses, workers, page]
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "job.sbd").write_text(PIPELINE)
        subprocess.run([SBC, "job.sbd", "-o", "job"], cwd=folder, check=True)
        if sys.argv[1:2] == ["--shots"]:
            shots(folder, sys.argv[2])
            return 0
        for case in cases:
            if sys.argv[1:] and case.__name__ not in sys.argv[1:]:
                continue
            try:
                case(folder)
                passed += 1
            except Skip as reason:
                print(f"{case.__name__}: skipped: {reason}")
                skipped += 1
            except Exception:
                print(f"{case.__name__}: failed; alone: tests/metrics_test.py {case.__name__}")
                print("    " + traceback.format_exc().strip().replace("\n", "\n    "))
                failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


sys.exit(main())
