package jetstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// An embedded server is a NATS server inside of this process. It listens nowhere:
// only connections of this process reach it. It syncs every write, so what it has
// confirmed survives a power loss.
type embedded struct {
	server *server.Server
	dir    string
	passes bool // the folder is deleted with the server
	lock   *flock.Flock
	users  int // channels; guarded by servers.mu
}

// servers are the embedded servers of this process, by folder: two servers in one
// folder would overwrite each other's files.
var servers = struct {
	mu sync.Mutex
	of map[string]*embedded
}{of: map[string]*embedded{}}

// startWait need not be long: a server that begins has read its folder before Start
// returns, however long that takes, and is ready then or never.
const startWait = time.Second

// lockName is the file in a folder by which processes exclude each other.
const lockName = "sluice.lock"

// useServer returns the server of a folder, and starts it for the first one that
// asks. Who got one must call release.
func useServer(dir string) (*embedded, error) {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	if dir == "" {
		made, err := os.MkdirTemp("", "sluice-jetstream-")
		if err != nil {
			return nil, fmt.Errorf("jetstream: a folder for the server: %w", err)
		}
		return startServer(made, true)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("jetstream: Dir: %w", err)
	}
	if e := servers.of[dir]; e != nil {
		e.users++
		return e, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("jetstream: Dir: %w", err)
	}
	return startServer(dir, false)
}

// startServer starts a server that has one user. servers.mu is held.
func startServer(dir string, passes bool) (_ *embedded, err error) {
	e := &embedded{dir: dir, passes: passes, lock: flock.New(filepath.Join(dir, lockName)), users: 1}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.stop())
		}
	}()
	switch locked, err := e.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("jetstream: Dir %s: %w", dir, err)
	case !locked:
		return nil, fmt.Errorf("jetstream: Dir %s: another process has its server there", dir)
	}
	e.server, err = server.NewServer(&server.Options{
		ServerName: "sluice", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncAlways: true, DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, fmt.Errorf("jetstream: a server in %s: %w", dir, err)
	}
	e.server.Start()
	if !e.server.ReadyForConnections(startWait) || !e.server.JetStreamEnabled() {
		return nil, fmt.Errorf("jetstream: the server in %s does not start: is it a folder of another kind, or without room?", dir)
	}
	servers.of[dir] = e
	return e, nil
}

// release ends one use of the server; the last one stops it.
func (e *embedded) release() error {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	if e.users--; e.users > 0 {
		return nil
	}
	delete(servers.of, e.dir)
	return e.stop()
}

// stop stops the server, and gives its folder free.
func (e *embedded) stop() error {
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	err := e.lock.Unlock()
	if e.passes {
		err = errors.Join(err, os.RemoveAll(e.dir))
	}
	return err
}
