"""network.py: a network between a job that listens and workers that join: it delays, stalls, cuts and is open on one side only.

Workers connect to a port of the network, which connects to the job. Each connection draws what befalls it. TCP hides losses of
packets; what is left of them is that bytes wait for as long as it takes to send them again: a stall.
"""
import random
import selectors
import socket
import subprocess
import threading
import time

CHUNK = 1 << 16
STALL = 0.25  # Seconds until a lost packet is sent again.
DEAF = 1.5    # Seconds that a connection is open on one side only: longer than a silence that counts as a loss.


class Link:
    """One connection: what befalls it, and both of its sides."""

    def __init__(self, draw, near, far, met):
        self.met = met  # Names of faults.FAULTS, of all links.
        self.peers = {near: far, far: near}
        self.delay = draw.choice([0, 0, 0.0005, 0.003, 0.02])
        self.stalls = draw.choice([0, 0, 0.02])             # Of how many chunks one stalls.
        fate = draw.choice(["whole", "whole", "cut", "cut", "deaf"])
        bytes_left = draw.choice([700, 5_000, 40_000, 300_000])
        self.cut_after = bytes_left if fate == "cut" else None
        self.deaf_after = bytes_left if fate == "deaf" else None
        self.deaf_side = draw.choice([near, far])           # What comes from there goes nowhere.
        self.waiting = []                                   # (when it is due, where to, bytes), in order of sending.
        self.last = {near: 0.0, far: 0.0}                   # When the last chunk from there is due.
        self.seen = 0
        self.deaf_until = None

    def take(self, side, data, draw):
        """Bytes that have come from a side. False: the link is cut."""
        self.seen += len(data)
        if self.cut_after is not None and self.seen > self.cut_after:
            self.met.append("a network cut")
            return False
        if self.deaf_after is not None and self.seen > self.deaf_after and self.deaf_until is None:
            self.deaf_until = time.monotonic() + DEAF
            self.met.append("a network open on one side")
        if self.deaf_until and side is self.deaf_side:
            return True
        stall = STALL if draw.random() < self.stalls else 0
        due = max(self.last[side], time.monotonic() + self.delay + stall)
        self.last[side] = due
        self.waiting.append((due, self.peers[side], data))
        return True


class Network(threading.Thread):
    """Forwards to the job's port until `close`. `port` is where workers connect."""

    def __init__(self, target, seed):
        super().__init__(daemon=True)
        self.target, self.draw = target, random.Random(seed)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.server, selectors.EVENT_READ, None)
        self.links = []
        self.met = []
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            for key, _ in self.selector.select(0.001 if any(link.waiting for link in self.links) else 0.02):
                if key.data is None:
                    self.accept()
                elif key.data in self.links:
                    self.read(key.fileobj, key.data)
            now = time.monotonic()
            for link in list(self.links):
                self.deliver(link, now)

    def accept(self):
        near, _ = self.server.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self.target), 1)
        except OSError:
            near.close()
            return
        link = Link(self.draw, near, far, self.met)
        self.links.append(link)
        for side in link.peers:
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(side, selectors.EVENT_READ, link)

    def read(self, side, link):
        try:
            data = side.recv(CHUNK)
        except OSError:
            data = b""
        if not data or not link.take(side, data, self.draw):
            self.drop(link)

    def deliver(self, link, now):
        if link.deaf_until and now > link.deaf_until:
            self.drop(link)
        while link in self.links and link.waiting and link.waiting[0][0] <= now:
            _, to, data = link.waiting.pop(0)
            try:
                to.settimeout(5)
                to.sendall(data)
            except OSError:
                self.drop(link)

    def drop(self, link):
        if link not in self.links:
            return
        self.links.remove(link)
        for side in link.peers:
            self.selector.unregister(side)
            side.close()

    def close(self):
        self.over.set()
        self.join()
        for link in list(self.links):
            self.drop(link)
        self.server.close()


class Joiners(threading.Thread):
    """Workers of a job that listens, over a network: each is begun anew when it ends, as an operator would."""

    def __init__(self, command, environment, folder, said, count, seed):
        super().__init__(daemon=True)
        self.command, self.environment, self.folder, self.said = command, environment, folder, said
        self.count, self.draw = count, random.Random(seed)
        self.over = threading.Event()
        self.network = None

    def met(self):
        return self.network.met if self.network else []

    def target(self):
        """The job's port, once it has said which."""
        for line in self.said.read_bytes().split(b"\n"):
            if line.startswith(b"workers join at "):
                return int(line.rsplit(b":", 1)[1])
        return None

    def run(self):
        while not self.over.is_set() and not (port := self.target()):
            time.sleep(0.01)
        if self.over.is_set():
            return
        self.network = Network(port, self.draw.random())
        self.network.start()
        workers = []
        while not self.over.wait(0.02):
            workers = [worker for worker in workers if worker.poll() is None]
            if len(workers) < self.count:
                workers.append(self.begin())
            if workers and self.draw.random() < 0.005:
                self.draw.choice(workers).kill()
        for worker in workers:
            self.end(worker)
        self.network.close()

    def begin(self):
        return subprocess.Popen([*self.command, f"--join=127.0.0.1:{self.network.port}"], cwd=self.folder, env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @staticmethod
    def end(worker):
        try:
            worker.wait(0.2)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()

    def close(self):
        self.over.set()
        self.join()
