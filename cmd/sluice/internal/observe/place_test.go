package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// stackOf reads frames such as "main.f main.go:7" and "runtime.gopark", one a line.
func stackOf(text string) (s capture.Stack) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		f := capture.Frame{Function: fields[0]}
		if len(fields) > 1 {
			colon := strings.LastIndexByte(fields[1], ':')
			f.File = fields[1][:colon]
			_, _ = fmt.Sscan(fields[1][colon+1:], &f.Line)
		}
		s = append(s, f)
	}
	return s
}

func TestPlace(t *testing.T) {
	for _, test := range []struct{ name, stack, want string }{
		{"a helper of the program sends", `
			runtime.gopark
			runtime.chansend
			runtime.chansend1
			main.put[...] m.go:5
			main.produce m.go:9
			main.run.func1 m.go:20
			runtime.goexit`,
			"send of channel at main.put:5 by main.produce:9, role main.run.func1"},
		{"a lock in a library belongs to its caller", `
			sync.runtime_SemacquireMutex
			internal/sync.(*Mutex).lockSlow
			internal/sync.(*Mutex).Lock
			sync.(*Mutex).Lock
			log.(*Logger).output /go/src/log/log.go:200
			log.Printf
			main.handle m.go:7
			net/http.HandlerFunc.ServeHTTP
			net/http.(*ServeMux).ServeHTTP
			main.middleware.func1 m.go:40
			net/http.HandlerFunc.ServeHTTP
			net/http.serverHandler.ServeHTTP
			net/http.(*conn).serve`,
			"lock of lock at main.handle:7 in log.Printf by main.middleware.func1:40, role main.handle on net/http.(*conn).serve"},
		{"a connection of a pool", `
			runtime.selectgo
			database/sql.(*DB).conn
			database/sql.(*DB).QueryContext
			main.(*Store).Get s.go:8
			main.worker w.go:4
			golang.org/x/sync/errgroup.(*Group).Go.func1 /mod/golang.org/x/sync@v0.24.0/errgroup/errgroup.go:93`,
			"acquire of limit database/sql at main.(*Store).Get:8 in database/sql.(*DB).QueryContext by main.worker:4, role main.worker on golang.org/x/sync/errgroup.(*Group).Go.func1"},
		{"a lock of a pool is a lock", `
			sync.(*Mutex).Lock
			database/sql.(*DB).conn
			database/sql.(*DB).QueryContext
			main.main s.go:8
			runtime.main`,
			"lock of lock at main.main:8 in database/sql.(*DB).QueryContext, role main.main"},
		{"SetLimit", `
			runtime.chansend1
			golang.org/x/sync/errgroup.(*Group).Go
			main.crawl c.go:3`,
			"acquire of limit errgroup.SetLimit at main.crawl:3 in golang.org/x/sync/errgroup.(*Group).Go, role main.crawl"},
		{"a slot is released after the program's function has returned", `
			runtime.chanrecv1
			golang.org/x/sync/errgroup.(*Group).done
			golang.org/x/sync/errgroup.(*Group).Go.func1`,
			"receive of channel at golang.org/x/sync/errgroup.(*Group).done:0, role  on golang.org/x/sync/errgroup.(*Group).Go.func1"},
		{"the round trip of a client waits outside", `
			runtime.selectgo
			net/http.(*persistConn).roundTrip
			net/http.(*Transport).roundTrip
			net/http.(*Client).Do
			main.fetch f.go:3
			main.worker f.go:9`,
			"network of outside at main.fetch:3 in net/http.(*Client).Do by main.worker:9, role main.worker"},
		{"an idle connection of a server", `
			internal/poll.runtime_pollWait
			internal/poll.(*pollDesc).wait
			internal/poll.(*FD).Read
			net.(*netFD).Read
			net.(*conn).Read
			net/http.(*connReader).Read
			bufio.(*Reader).Peek
			net/http.(*conn).serve`,
			"network of outside at net/http.(*conn).serve:0 in bufio.(*Reader).Peek, role  on net/http.(*conn).serve"},
		{"a write to a socket", `
			internal/runtime/syscall.Syscall6
			syscall.RawSyscall6
			syscall.write
			internal/poll.(*FD).Write
			net.(*conn).Write
			main.reply r.go:3`,
			"network of outside at main.reply:3 in net.(*conn).Write, role main.reply"},
		{"a sync", `
			syscall.Fsync
			internal/poll.(*FD).Fsync
			os.(*File).Sync
			main.store s.go:3`,
			"file of disk sync at main.store:3 in os.(*File).Sync, role main.store"},
		{"a channel of this module", `
			runtime.chanrecv1
			github.com/sluice-go/sluice/internal/park.Parker.Wait
			github.com/sluice-go/sluice/internal/segqueue.(*Engine[...]).send
			github.com/sluice-go/sluice/internal/segqueue.(*Engine[...]).Send
			github.com/sluice-go/sluice.(*channel[...]).Send
			main.produce p.go:3`,
			"send of channel at main.produce:3 in sluice.(*channel).Send, role main.produce"},
		{"a worker of this module that waits", `
			runtime.chanrecv1
			github.com/sluice-go/sluice.(*channel[...]).Recv
			github.com/sluice-go/sluice/workers.(*Pool[...]).run
			github.com/sluice-go/sluice/workers.Run[...].func1`,
			"receive of channel at github.com/sluice-go/sluice/workers.Run.func1:0 in workers.(*Pool).run, role  on github.com/sluice-go/sluice/workers.Run.func1"},
		{"a worker of this module that works", `
			main.work w.go:3
			github.com/sluice-go/sluice/workers.(*Pool[...]).run
			github.com/sluice-go/sluice/workers.Run[...].func1`,
			" at main.work:3, role main.work on github.com/sluice-go/sluice/workers.Run.func1"},
		{"an iterator of this module, inlined by Go 1.26", `
			runtime.chanrecv1
			github.com/sluice-go/sluice.(*channel[...]).Recv
			main.sink.(*Values[...]).All.func1 /m/sluice/values.go:30
			main.sink s.go:4`,
			"receive of channel at main.sink:4 in sluice.(*channel).Recv, role main.sink"},
		{"a loop over an iterator of the program, inlined by Go 1.26", `
			runtime.chansend1
			main.run-range1 m.go:10
			main.run.(*Q[...]).All.func6 m.go:5
			main.run m.go:10
			main.main m.go:3`,
			"send of channel at main.run:10 by main.main:3, role main.main"},
		{"a dependency that nobody knows", `
			runtime.selectgo
			example.org/client.(*Conn).Call /home/ann/go/pkg/mod/example.org/client@v1.2.0/conn.go:9
			app/service.(*Job).Run /app/service/job.go:7
			app/service.(*Group).Go.func1 /app/service/group.go:3`,
			"select of channel at app/service.(*Job).Run:7 in example.org/client.(*Conn).Call by app/service.(*Group).Go.func1:3, role app/service.(*Job).Run on app/service.(*Group).Go.func1"},
		{"a program in a folder with an @", `
			runtime.chanrecv1
			app/service.(*Job).Run /home/ann@vps/app/service/job.go:7`,
			"receive of channel at app/service.(*Job).Run:7, role app/service.(*Job).Run"},
		{"an iterator of the program, inlined by Go 1.27", `
			runtime.chansend1
			main.run-range1 m.go:10
			main.(*Q[...]).All.func1 m.go:5
			main.run m.go:10
			main.main m.go:3`,
			"send of channel at main.run:10 by main.main:3, role main.main"},
		{"an iterator of this module, inlined by Go 1.27", `
			runtime.chanrecv1
			github.com/sluice-go/sluice.(*channel[...]).Recv
			github.com/sluice-go/sluice.(*Values[...]).All.func1 /m/sluice/values.go:30
			main.sink s.go:4`,
			"receive of channel at main.sink:4 in sluice.(*channel).Recv, role main.sink"},
		{"a function of package sync, inlined by Go 1.27", `
			runtime.chanrecv1
			main.load m.go:12
			sync.OnceFunc.func1.func1 /go/pkg/mod/golang.org/toolchain@v0.0.1-go1.27.3.linux-amd64/src/sync/oncefunc.go:33
			sync.(*Once).Do
			main.run m.go:20`,
			"receive of channel at main.load:12 by main.run:20, role main.run"},
		{"a condition takes its lock again", `
			sync.(*Mutex).Lock
			sync.(*Cond).Wait
			main.f m.go:3`,
			"lock of lock at main.f:3 in sync.(*Cond).Wait, role main.f"},
		{"a broadcast", `
			sync.runtime_notifyListNotifyAll
			sync.(*Cond).Broadcast
			main.f m.go:3`,
			"signal of condition at main.f:3 in sync.(*Cond).Broadcast, role main.f"},
		{"the runtime alone", `
			runtime.gopark
			runtime.gcBgMarkWorker
			runtime.goexit`,
			" at :0, role  on runtime.gcBgMarkWorker"},
		{"a profile is taken", `
			runtime.selectgo
			net/http/pprof.sleep
			net/http/pprof.Profile
			net/http.(*conn).serve`,
			"select of channel own at net/http.(*conn).serve:0 in net/http/pprof.Profile, role  on net/http.(*conn).serve"},
		{"a closure of the standard library, inlined by Go 1.26", `
			runtime.chanrecv1
			main.load m.go:12
			main.run.run.OnceFunc.func8.func9 /usr/local/go/src/sync/oncefunc.go:33
			sync.(*Once).Do
			main.run.OnceFunc.func8 /usr/local/go/src/sync/oncefunc.go:22
			main.run m.go:12`,
			"receive of channel at main.load:12 by main.run:12, role main.run"},
		{"a program in a folder of that name", `
			runtime.chanrecv1
			main.main.func1 /home/u/src/sync/main.go:3`,
			"receive of channel at main.main.func1:3, role main.main.func1"},
		{"a request in HTTP/2", `
			sync.(*Cond).Wait
			net/http.(*http2pipe).Read
			net/http.http2transportResponseBody.Read
			io.ReadAll
			main.fetch f.go:3`,
			"network of outside at main.fetch:3 in io.ReadAll, role main.fetch"},
		{"a pool of a known library", `
			runtime.selectgo
			golang.org/x/sync/semaphore.(*Weighted).Acquire
			github.com/jackc/puddle/v2.(*Pool[...]).acquire
			github.com/jackc/puddle/v2.(*Pool[...]).Acquire
			github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire
			main.query q.go:3`,
			"acquire of limit pgxpool at main.query:3 in github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire, role main.query"},
		{"a limit of connections", `
			runtime.selectgo
			golang.org/x/net/netutil.(*limitListener).acquire /mod/golang.org/x/net@v0.62.0/netutil/listen.go:40
			golang.org/x/net/netutil.(*limitListener).Accept /mod/golang.org/x/net@v0.62.0/netutil/listen.go:49
			net/http.(*Server).Serve
			net/http.Serve
			main.main m.go:9`,
			"acquire of limit LimitListener at main.main:9 in net/http.Serve, role main.main"},
		{"a pipe takes what is written", `
			runtime.chanrecv1
			io.(*pipe).write
			io.(*PipeWriter).Write
			fmt.Fprintln
			main.dump m.go:3`,
			"send of channel io.Pipe at main.dump:3 in fmt.Fprintln, role main.dump"},
		{"the far side reads slowly", `
			internal/poll.(*FD).Write
			net.(*netFD).Write
			net.(*conn).Write
			main.reply m.go:3`,
			"network of outside slow reader at main.reply:3 in net.(*conn).Write, role main.reply"},
		{"a server of datagrams", `
			internal/poll.(*FD).ReadFromInet4
			net.(*netFD).readFromInet4
			net.(*UDPConn).ReadFrom
			main.listen m.go:3`,
			"network of outside datagrams at main.listen:3 in net.(*UDPConn).ReadFrom, role main.listen"},
		{"a connection is made", `
			internal/poll.(*FD).WaitWrite
			net.(*netFD).connect
			net.DialTCP
			main.dial m.go:3`,
			"network of outside at main.dial:3 in net.DialTCP, role main.dial"},
		{"a sleep", `
			runtime.gopark
			time.Sleep
			main.poll p.go:3`,
			"sleep of timer at main.poll:3, role main.poll"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := describe(place(stackOf(test.stack))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func describe(p placed) string {
	s := string(p.Op)
	if p.node != "" {
		s += " of " + string(p.node)
	}
	if p.name != "" {
		s += " " + p.name
	}
	if p.own {
		s += " own"
	}
	s += fmt.Sprintf(" at %s:%d", p.At.Function, p.At.Line)
	if p.In != "" {
		s += " in " + p.In
	}
	if p.Caller.Function != "" {
		s += fmt.Sprintf(" by %s:%d", p.Caller.Function, p.Caller.Line)
	}
	s += ", role " + p.role.Function
	if p.host != "" {
		s += " on " + p.host
	}
	return s
}
