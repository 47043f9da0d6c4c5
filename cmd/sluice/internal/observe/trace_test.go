package observe

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/workers"
)

// observed runs a program, and returns what its trace shows.
func observed(t *testing.T, run func()) *Observation {
	t.Helper()
	if trace.IsEnabled() {
		t.Skip("a trace of the tests is being taken")
	}
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	run()
	trace.Stop()
	return read(t, buf.Bytes())
}

func read(t *testing.T, data []byte) *Observation {
	t.Helper()
	o, err := Of(&capture.Capture{Trace: traceOf(data)})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Missing) > 0 {
		t.Fatal(o.Missing)
	}
	check(t, o)
	if again, _ := Of(&capture.Capture{Trace: traceOf(data)}); !reflect.DeepEqual(o, again) {
		t.Error("two readings of a trace differ")
	}
	return o
}

func traceOf(data []byte) *capture.Trace {
	return &capture.Trace{Size: int64(len(data)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// check holds for all observations: indexes are valid, and parts add up.
func check(t *testing.T, o *Observation) {
	t.Helper()
	names := map[string]bool{}
	for _, r := range o.Roles {
		if math.Abs(r.Time.sum()-r.Alive) > 1e-6*(1+r.Alive) {
			t.Errorf("role %s: parts add up to %v of %v", r.Name, r.Time.sum(), r.Alive)
		}
		if r.Time.Disk > r.Time.System+1e-9 || r.Full < 0 || r.Full > 1 {
			t.Errorf("role %s: %+v", r.Name, r)
		}
		if names[r.Name] {
			t.Errorf("two roles are called %s", r.Name)
		}
		names[r.Name] = true
	}
	mean, rate := make([]float64, len(o.Waits)), make([]float64, len(o.Waits))
	of := make([]float64, len(o.Roles))
	for _, w := range o.Waits {
		if w.Node < 0 || w.Node >= len(o.Nodes) || w.Role < 0 || w.Role >= len(o.Roles) {
			t.Fatalf("wait %+v", w)
		}
		of[w.Role] += w.Mean
	}
	for _, k := range o.Wakes {
		if k.Role < -1 || k.Role >= len(o.Roles) {
			t.Fatalf("wake %+v", k)
		}
		mean[k.Wait] += k.Mean
		rate[k.Wait] += k.Rate
	}
	for i, m := range mean {
		if m > o.Waits[i].Mean+1e-6 {
			t.Errorf("wakes end %v of %v at %+v", m, o.Waits[i].Mean, o.Waits[i].Line)
		}
		if math.Abs(rate[i]-o.Waits[i].Rate) > 1e-6*(1+rate[i]) {
			t.Errorf("wakes end %v of %v waits a second at %+v", rate[i], o.Waits[i].Rate, o.Waits[i].Line)
		}
	}
	for i, sum := range of {
		if sum > o.Roles[i].Alive+1e-6 {
			t.Errorf("role %s waits %v of %v", o.Roles[i].Name, sum, o.Roles[i].Alive)
		}
	}
}

func role(t *testing.T, o *Observation, name string) *Role {
	t.Helper()
	i := slices.IndexFunc(o.Roles, func(r Role) bool { return r.Name == name || strings.HasSuffix(r.Start.Function, "/"+name) })
	if i < 0 {
		var all []string
		for _, r := range o.Roles {
			all = append(all, r.Name)
		}
		t.Fatalf("no role %q in %q", name, all)
	}
	return &o.Roles[i]
}

// wait returns the largest wait of a role with an operation, its node, and the name of the
// role that ended most of it ("" for none).
func wait(t *testing.T, o *Observation, of string, op Op) (Wait, Node, string) {
	t.Helper()
	for i, w := range o.Waits {
		if o.Roles[w.Role].Name != of || w.Op != op {
			continue
		}
		for _, k := range o.Wakes {
			if k.Wait == i && k.Role >= 0 {
				return w, o.Nodes[w.Node], o.Roles[k.Role].Name
			}
		}
		return w, o.Nodes[w.Node], ""
	}
	t.Fatalf("%s never waits in %q: %+v", of, op, o.Waits)
	return Wait{}, Node{}, ""
}

const values = 200

func chainSource(out chan<- int) {
	for i := range values {
		time.Sleep(50 * time.Microsecond)
		out <- i
	}
	close(out)
}

func chainStage(in <-chan int, out chan<- int) {
	for v := range in {
		out <- v
	}
	close(out)
}

func chainSink(in <-chan int, done chan<- bool) {
	for range in {
	}
	done <- true
}

func TestChainOfOneFunction(t *testing.T) {
	o := observed(t, func() {
		done, in := make(chan bool), make(chan int)
		go chainSource(in)
		for range 3 {
			out := make(chan int)
			go chainStage(in, out)
			in = out
		}
		go chainSink(in, done)
		<-done
	})
	for i, name := range []string{"chainStage 1", "chainStage 2", "chainStage 3", "chainSink"} {
		w, n, by := wait(t, o, name, Receive)
		if want := append([]string{"chainSource"}, "chainStage 1", "chainStage 2", "chainStage 3")[i]; by != want || n.Kind != Channel || w.Rate == 0 {
			t.Errorf("%s waits at %+v for %s (want %s)", name, n, by, want)
		}
		if r := role(t, o, name); r.Time.Partner < 0.5*r.Alive || r.By.Function == "" || r.Created == 0 {
			t.Errorf("%+v", r)
		}
	}
	if r := role(t, o, "chainSource"); r.Time.Sleep < 0.5*r.Alive {
		t.Errorf("%+v", r)
	}
}

func holdToken(tokens chan bool, wg *sync.WaitGroup) {
	defer wg.Done()
	for range 50 {
		tokens <- true
		time.Sleep(50 * time.Microsecond)
		<-tokens
	}
}

func TestChannelAsLock(t *testing.T) {
	o := observed(t, func() {
		tokens, wg := make(chan bool, 1), sync.WaitGroup{}
		for range 4 {
			wg.Add(1)
			go holdToken(tokens, &wg)
		}
		wg.Wait()
	})
	w, n, by := wait(t, o, "holdToken", Send)
	if n.Kind != Channel || by != "holdToken" || w.Mean < 1 {
		t.Errorf("%+v at %+v, ended by %s", w, n, by)
	}
}

func holdLock(mu *sync.Mutex, wg *sync.WaitGroup) {
	defer wg.Done()
	for range 50 {
		mu.Lock()
		time.Sleep(50 * time.Microsecond)
		mu.Unlock()
	}
}

func TestLock(t *testing.T) {
	o := observed(t, func() {
		mu, wg := sync.Mutex{}, sync.WaitGroup{}
		for range 4 {
			wg.Add(1)
			go holdLock(&mu, &wg)
		}
		wg.Wait()
	})
	w, n, by := wait(t, o, "holdLock", Lock)
	if n.Kind != Mutex || by != "holdLock" || w.In != "sync.(*Mutex).Lock" || role(t, o, "holdLock").Time.Lock < 1 {
		t.Errorf("%+v at %+v, ended by %s", w, n, by)
	}
	if i := slices.IndexFunc(n.Lines, func(l Line) bool { return l.Op == Unlock }); i < 0 {
		t.Errorf("no unlock in %+v", n.Lines)
	}
}

func waitForTurn(c *sync.Cond, turn *int, wg *sync.WaitGroup) {
	defer wg.Done()
	c.L.Lock()
	for *turn < 20 {
		c.Wait()
	}
	c.L.Unlock()
}

func announceTurns(c *sync.Cond, turn *int) {
	for range 20 {
		time.Sleep(100 * time.Microsecond)
		c.L.Lock()
		*turn++
		c.L.Unlock()
		c.Broadcast()
	}
}

func TestCondition(t *testing.T) {
	o := observed(t, func() {
		turn, wg := 0, sync.WaitGroup{}
		c := sync.NewCond(&sync.Mutex{})
		for range 4 {
			wg.Add(1)
			go waitForTurn(c, &turn, &wg)
		}
		go announceTurns(c, &turn)
		wg.Wait()
	})
	if _, n, by := wait(t, o, "waitForTurn", CondWait); n.Kind != Condition || by != "announceTurns" {
		t.Errorf("%+v, ended by %s", n, by)
	}
}

// elastic is an unbounded buffer: one select receives from a channel and sends to another.
func elastic(in <-chan int, out chan<- int) {
	var queue []int
	for in != nil || len(queue) > 0 {
		var to chan<- int
		var head int
		if len(queue) > 0 {
			to, head = out, queue[0]
		}
		select {
		case v, ok := <-in:
			if !ok {
				in = nil
				continue
			}
			queue = append(queue, v)
		case to <- head:
			queue = queue[1:]
		}
	}
	close(out)
}

func TestSelectOfTwoChannels(t *testing.T) {
	o := observed(t, func() {
		in, out, done := make(chan int), make(chan int), make(chan bool)
		go chainSource(in)
		go elastic(in, out)
		go chainSink(out, done)
		<-done
	})
	_, in, by := wait(t, o, "elastic", Select)
	_, out, _ := wait(t, o, "chainSink", Receive)
	if by != "chainSource" || in.Name == out.Name {
		t.Errorf("in %+v, out %+v, ended by %s", in, out, by)
	}
}

func offer(out chan<- int, stop <-chan bool) {
	for {
		select {
		case out <- 1:
		case <-stop:
			return
		}
	}
}

func accept(in <-chan int, stop, done chan bool) {
	for range values {
		time.Sleep(50 * time.Microsecond)
		select {
		case <-in:
		case <-stop:
		}
	}
	close(stop)
	done <- true
}

func TestDirectionOfSelects(t *testing.T) {
	o := observed(t, func() {
		c, stop, done := make(chan int), make(chan bool), make(chan bool)
		go offer(c, stop)
		go accept(c, stop, done)
		<-done
	})
	for i, w := range o.Waits {
		if o.Roles[w.Role].Name != "offer" {
			continue
		}
		if k := o.Wakes[slices.IndexFunc(o.Wakes, func(k Wake) bool { return k.Wait == i })]; k.By.Op != Receive {
			t.Errorf("%+v ended by %+v: are the lines of runtime.selectgo still these?", w, k)
		}
		return
	}
	t.Errorf("no wait in %+v", o.Waits)
}

func tick(stop <-chan bool, done chan<- bool) {
	ticker := time.NewTicker(200 * time.Microsecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-stop:
			done <- true
			return
		}
	}
}

func linger(in <-chan int, done chan<- bool) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case _, ok := <-in:
			if !ok {
				done <- true
				return
			}
		case <-ticker.C:
		}
	}
}

func TestSelectWithTimer(t *testing.T) {
	o := observed(t, func() {
		stop, in, done := make(chan bool), make(chan int), make(chan bool)
		go tick(stop, done)
		go linger(in, done)
		chainSource(in)
		<-done
		close(stop)
		<-done
	})
	if r := role(t, o, "tick"); r.Time.Partner > r.Time.Sleep {
		t.Errorf("a select that ticks: %+v", r.Time)
	}
	if r := role(t, o, "linger"); r.Time.Sleep > r.Time.Partner {
		t.Errorf("a select that receives, and ticks at times: %+v", r.Time)
	}
}

func answerSlowly(w http.ResponseWriter, _ *http.Request) { time.Sleep(2 * time.Millisecond) }

func askServer(client *http.Client, url string, wg *sync.WaitGroup) {
	defer wg.Done()
	for range 10 {
		if r, err := client.Get(url); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
	}
}

func TestHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(answerSlowly))
	defer server.Close()
	for _, limit := range []int{0, 1} {
		client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: limit}}
		o := observed(t, func() {
			wg := sync.WaitGroup{}
			for range 4 {
				wg.Add(1)
				go askServer(client, server.URL, &wg)
			}
			wg.Wait()
		})
		client.CloseIdleConnections()
		asker, handler := role(t, o, "askServer"), role(t, o, "answerSlowly")
		if limit == 0 && asker.Time.Outside < 0.5*asker.Alive {
			t.Errorf("a client waits for the network: %+v", asker.Time)
		}
		if limit == 1 && asker.Time.Limit < 0.5*asker.Alive {
			t.Errorf("a client waits for a connection: %+v", asker.Time)
		}
		if _, n, _ := wait(t, o, "askServer", Acquire); limit == 1 && (n.Kind != Limit || !strings.HasPrefix(n.Name, "http.Transport")) {
			t.Errorf("%+v", n)
		}
		if handler.Host != "net/http.(*conn).serve" || handler.Time.Sleep < 0.5*handler.Alive || handler.Alive > 4 || handler.Created == 0 {
			t.Errorf("%+v", handler)
		}
		if r := role(t, o, "http.(*conn).serve"); !r.Runtime {
			t.Errorf("%+v", r)
		}
	}
}

type fakeDriver struct{}
type fakeConn struct{}

func (fakeDriver) Driver() driver.Driver                        { return nil }
func (fakeDriver) Connect(context.Context) (driver.Conn, error) { return fakeConn{}, nil }
func (fakeConn) Prepare(string) (driver.Stmt, error)            { return nil, driver.ErrSkip }
func (fakeConn) Close() error                                   { return nil }
func (fakeConn) Begin() (driver.Tx, error)                      { return nil, driver.ErrSkip }
func (fakeConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	time.Sleep(200 * time.Microsecond)
	return driver.RowsAffected(1), nil
}

func execute(db *sql.DB, wg *sync.WaitGroup) {
	defer wg.Done()
	for range 20 {
		_, _ = db.Exec("x")
	}
}

func TestPoolOfConnections(t *testing.T) {
	db := sql.OpenDB(fakeDriver{})
	defer db.Close()
	db.SetMaxOpenConns(1)
	o := observed(t, func() {
		wg := sync.WaitGroup{}
		for range 4 {
			wg.Add(1)
			go execute(db, &wg)
		}
		wg.Wait()
	})
	w, n, by := wait(t, o, "execute", Acquire)
	if n.Kind != Limit || n.Name != "database/sql" || by != "execute" || w.In != "database/sql.(*DB).Exec" || role(t, o, "execute").Time.Limit < 1 {
		t.Errorf("%+v at %+v, ended by %s", w, n, by)
	}
}

// A pool waits in its own code between two jobs of the program: see the group of package sync.
func TestStartedByALibrary(t *testing.T) {
	o := observed(t, func() {
		wg := sync.WaitGroup{}
		mu := sync.Mutex{}
		for range 3 {
			wg.Go(func() { lockOften(&mu) })
		}
		wg.Wait()
	})
	r := role(t, o, "observe.TestStartedByALibrary.func1.1")
	if r.Host != "" && !strings.Contains(r.Host, "WaitGroup") || r.Created == 0 {
		t.Errorf("%+v", r)
	}
}

func lockOften(mu *sync.Mutex) {
	for range 20 {
		mu.Lock()
		time.Sleep(20 * time.Microsecond)
		mu.Unlock()
	}
}

func syncOften(f *os.File, done chan<- bool) {
	for range 20 {
		_, _ = f.Write([]byte("x"))
		_ = f.Sync()
	}
	done <- true
}

func TestSyncs(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := observed(t, func() {
		done := make(chan bool)
		go syncOften(f, done)
		<-done
	})
	if w, n, _ := wait(t, o, "syncOften", File); n.Kind != Disk || w.In != "os.(*File).Sync" || role(t, o, "syncOften").Time.Disk == 0 {
		t.Errorf("%+v at %+v", w, n)
	}
}

func feedWorkers(ctx context.Context, c *sluice.Bounded[int]) {
	for i := range values {
		_ = c.Send(ctx, i)
	}
	c.Close()
}

func workSlowly(context.Context, int) error {
	time.Sleep(100 * time.Microsecond)
	return nil
}

func TestWorkersOfThisModule(t *testing.T) {
	c := sluice.NewBounded[int](1, nil)
	o := observed(t, func() {
		go feedWorkers(t.Context(), c)
		if err := workers.Run(t.Context(), c, 2, workSlowly, nil); err != nil {
			t.Error(err)
		}
	})
	w, n, by := wait(t, o, "feedWorkers", Send)
	if n.Kind != Channel || by != "workSlowly" || w.In != "sluice.(*channel).Send" {
		t.Errorf("%+v at %+v, ended by %s", w, n, by)
	}
	r := role(t, o, "workSlowly")
	if !strings.HasPrefix(r.Host, Module+"/workers.") || r.Runtime || r.Time.Sleep < 1 {
		t.Errorf("%+v", r)
	}
}

//go:noinline
func computeLeaf(sum *int) {
	for i := range 200_000_000 {
		*sum += i
	}
}

func computeOnly(done chan<- int) {
	sum := 0
	computeLeaf(&sum)
	done <- sum
}

// The stack of a preempted leaf may lack its caller, or all frames of the program.
func TestPreempted(t *testing.T) {
	o := observed(t, func() {
		done := make(chan int)
		for range 4 {
			go computeOnly(done)
		}
		for range 4 {
			<-done
		}
	})
	if r := role(t, o, "computeOnly"); r.Time.Running == 0 || r.Created*o.Sources.Trace.Seconds() > 4.5 {
		t.Errorf("%+v", r)
	}
	for _, r := range o.Roles {
		if r.Name == "computeLeaf" || strings.Contains(r.Name, "asyncPreempt") && r.Alive > 0.01 && r.Created > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// sumBriefly computes for less time than a goroutine may run for before it is preempted.
//
//go:noinline
func sumBriefly(results *[values]int, i int) {
	for k := range 100_000 {
		results[i] += k ^ i
	}
}

// The trace has no stack of a goroutine that never waits and wakes no other. The line that started it
// shows what it is, if another goroutine of that line has waited.
func TestComputesWithoutAStack(t *testing.T) {
	o := observed(t, func() {
		wg, results := sync.WaitGroup{}, new([values]int)
		for i := range values {
			wg.Go(func() {
				if i < 4 {
					time.Sleep(time.Millisecond)
				}
				sumBriefly(results, i)
			})
			if i < 4 {
				wg.Wait() // what it is has been seen before the others end
			}
		}
		wg.Wait()
	})
	r := role(t, o, "observe.TestComputesWithoutAStack.func1.1")
	if started := r.Created * o.Sources.Trace.Seconds(); started < 0.9*values {
		t.Errorf("%.0f of %d goroutines: %+v", started, values, r)
	}
}

var errAnswered = errors.New("answered")

// readAnswer waits for the network, and then ends the pool that it is a job of.
func readAnswer(_ context.Context, c net.Conn) error {
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		return err
	}
	return errAnswered
}

// A worker of a pool that has nothing to do waits for a partner, even if the worker that wakes it has
// waited for the network in a job: what reads answers in a client is a goroutine of the library's own.
func TestWokenAfterAnAnswer(t *testing.T) {
	near, far := connected(t)
	o := observed(t, func() {
		for range 5 {
			jobs := sluice.NewBounded[net.Conn](1, nil)
			_ = jobs.Send(t.Context(), near)
			time.AfterFunc(10*time.Millisecond, func() { _, _ = far.Write([]byte("x")) })
			if err := workers.Run(t.Context(), jobs, 8, readAnswer, nil); !errors.Is(err, errAnswered) {
				t.Error(err)
			}
		}
	})
	partner, outside := 0.0, 0.0
	for _, r := range o.Roles {
		if strings.HasPrefix(r.Name, "readAnswer") { // one waits for the network, and seven for it
			partner += r.Time.Partner
			outside += r.Time.Outside
		}
	}
	if partner < outside {
		t.Errorf("%v wait for partners, and %v outside", partner, outside)
	}
}

// connected returns the ends of a connection.
func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Skip(err)
	}
	defer listener.Close()
	if near, err = net.Dial("tcp", listener.Addr().String()); err == nil {
		far, err = listener.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func TestCutOffTrace(t *testing.T) {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip(err)
	}
	done, in := make(chan bool), make(chan int)
	go chainSource(in)
	go chainSink(in, done)
	<-done
	trace.Stop()
	whole := buf.Bytes()
	for cut := 0; cut < len(whole); cut += 1 + len(whole)/50 {
		o, err := Of(&capture.Capture{Trace: traceOf(whole[:cut])})
		if err == nil {
			check(t, o)
		}
		garbage := slices.Clone(whole)
		for i := cut; i < min(len(garbage), cut+8); i++ {
			garbage[i] ^= 0x5a
		}
		if o, err := Of(&capture.Capture{Trace: traceOf(garbage)}); err == nil {
			check(t, o)
		}
	}
}
