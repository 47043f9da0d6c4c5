package observe

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// A meaning is what a function does to the goroutine that calls it.
type meaning struct {
	op   Op
	node NodeKind
	name string // of a limit, and of a thing outside that is known by name
	only Op     // the operation further in that it applies to; "" for any
}

const nothing Op = "nothing" // further in

// meanings are the functions that wait, wake others, or enter the system. The outermost
// one below the line of the program counts: a receive in (*DB).conn is the wait for a
// connection. A request in a client waits for goroutines of the client, which wait for
// the network: the request waits for the network. An ellipsis stands for
// versions, packages and types, and the longest name decides.
var meanings, patterns = byName(map[meaning]string{
	{op: Send, node: Channel}:        "runtime.chansend1 runtime.chansend runtime.reflect_chansend",
	{op: Receive, node: Channel}:     "runtime.chanrecv1 runtime.chanrecv2 runtime.chanrecv runtime.reflect_chanrecv",
	{op: Select, node: Channel}:      "runtime.selectgo runtime.reflect_rselect runtime.block reflect.rselect reflect.Select",
	{op: PollSend, node: Channel}:    "runtime.selectnbsend",
	{op: PollReceive, node: Channel}: "runtime.selectnbrecv",
	{op: Close, node: Channel}:       "runtime.closechan runtime.reflect_chanclose",
	{op: Sleep, node: Timer}:         "runtime.timeSleep time.Sleep",
	{op: Yield}:                      "runtime.Gosched",

	{op: Send, node: Channel, name: Pipe}:          "io.(*pipe).write",
	{op: Receive, node: Channel, name: Pipe}:       "io.(*pipe).read",
	{op: Send, node: Channel, name: "net.Pipe"}:    "net.(*pipe).write",
	{op: Receive, node: Channel, name: "net.Pipe"}: "net.(*pipe).read",

	{op: Lock, node: Mutex}: "sync.(*Mutex).Lock sync.(*Mutex).TryLock internal/sync.(*Mutex).Lock " +
		"sync.(*RWMutex).Lock sync.(*RWMutex).RLock sync.(*RWMutex).TryLock sync.(*RWMutex).TryRLock",
	{op: Lock, node: Mutex, name: "file"}: "internal/poll.(*fdMutex).rwlock",
	{op: Unlock, node: Mutex}:             "sync.(*Mutex).Unlock internal/sync.(*Mutex).Unlock sync.(*RWMutex).Unlock sync.(*RWMutex).RUnlock",
	{op: CondWait, node: Condition}:       "sync.(*Cond).Wait",
	{op: Signal, node: Condition}:         "sync.(*Cond).Signal sync.(*Cond).Broadcast",
	{op: GroupWait, node: Group}:          "sync.(*WaitGroup).Wait",
	{op: GroupDone, node: Group}:          "sync.(*WaitGroup).Done sync.(*WaitGroup).Add",

	{op: GroupWait, node: Group, name: "singleflight", only: GroupWait}: "golang.org/x/sync/singleflight.(*Group).Do",

	{op: File, node: Disk, only: nothing}: "syscall.… internal/runtime/syscall… internal/syscall/unix.… golang.org/x/sys/unix.…",
	{op: File, node: Disk, name: "sync"}:  "os.(*File).Sync syscall.Fsync syscall.Fdatasync syscall.fcntl_F_FULLFSYNC golang.org/x/sys/unix.Fsync golang.org/x/sys/unix.Fdatasync",

	{op: Network, node: Outside, only: nothing}:                    "internal/poll.…",
	{op: Network, node: Outside, name: "datagrams", only: nothing}: "internal/poll.(*FD).ReadFrom… internal/poll.(*FD).ReadMsg…",
	{op: Network, node: Outside, name: SlowReader, only: nothing}:  "internal/poll.(*FD).Write…",
	{op: Network, node: Outside, name: "new connections"}:          "internal/poll.(*FD).Accept",
	{op: Network, node: Outside, only: File}:                       "net.…",
	{op: Network, node: Outside}: "internal/poll.runtime_pollWait net.(*sysDialer).dialParallel net/textproto.(*Pipeline).StartRequest " +
		"net/http.(*persistConn).roundTrip net/http.(*persistConn).wroteRequest net/http.(*Transport).dialConnFor net/http.(*connReader).abortPendingRead " +
		"net/http…ClientConn).RoundTrip net/http…ClientConn).roundTrip golang.org/x/net/http2…ClientConn).RoundTrip golang.org/x/net/http2…ClientConn).roundTrip",
	{op: Network, node: Outside, name: "signals"}:     "os/signal.signal_recv",
	{op: Network, node: Outside, name: "name server"}: "net.(*Resolver).lookupIPAddr net.(*Resolver).goLookupIPCNAMEOrder net.cgoLookupIP net.doBlockingWithCtx",
	{op: Network, node: Outside, name: "child process"}: "os.(*Process).Wait os/exec.(*Cmd).Wait os/exec.(*Cmd).awaitGoroutines " +
		"syscall.Wait4 syscall.forkAndExecInParent",
	{op: Network, node: Outside, only: CondWait}: "net/http…ipe).Read golang.org/x/net/http2…ipe).Read github.com/jackc/pgx/…BGReader).Read",
	{op: Network, node: Outside, only: Select}: "net/http…serverConn).writeDataFromHandler golang.org/x/net/http2…serverConn).writeDataFromHandler " +
		"google.golang.org/grpc/internal/transport.…recvBufferReader).readClient google.golang.org/grpc/internal/transport.…recvBufferReader).read " +
		"google.golang.org/grpc/internal/transport.…waitOnHeader google.golang.org/grpc.…pickerWrapper).pick",
	{op: Network, node: Outside, name: SlowReader, only: Select}: "google.golang.org/grpc/internal/transport.…writeQuota).get",

	{op: Acquire, node: Limit, name: "semaphore", only: Select}:        "golang.org/x/sync/semaphore.(*Weighted).Acquire",
	{op: Acquire, node: Limit, name: "semaphore"}:                      Module + "/semaphore.(*Semaphore).Acquire",
	{op: Acquire, node: Limit, name: "errgroup.SetLimit", only: Send}:  "golang.org/x/sync/errgroup.(*Group).Go",
	{op: Acquire, node: Limit, name: "LimitListener", only: Select}:    "golang.org/x/net/netutil.(*limitListener).acquire",
	{op: Acquire, node: Limit, name: "rate.Limiter", only: Select}:     "golang.org/x/time/rate.(*Limiter).wait",
	{op: Acquire, node: Limit, name: "database/sql", only: Select}:     "database/sql.(*DB).conn",
	{op: Acquire, node: Limit, name: "http.Transport", only: Select}:   "net/http.(*Transport).getConn",
	{op: Acquire, node: Limit, name: "streams of HTTP/2"}:              "net/http…awaitOpenSlotForStreamLocked golang.org/x/net/http2…awaitOpenSlotForStreamLocked",
	{op: Acquire, node: Limit, name: "streams of gRPC", only: Select}:  "google.golang.org/grpc/internal/transport.…http2Client).NewStream",
	{op: Acquire, node: Limit, name: "streams of gRPC", only: Receive}: "google.golang.org/grpc.…Semaphore).acquire",
	{op: Acquire, node: Limit, name: "pgxpool"}:                        "github.com/jackc/puddle…acquire github.com/jackc/puddle…Pool).Acquire",
	{op: Acquire, node: Limit, name: "go-redis"}: "github.com/redis/go-redis/…ConnPool).waitTurn github.com/redis/go-redis/…Semaphore).Acquire " +
		"github.com/go-redis/redis/…ConnPool).waitTurn",
	{op: Acquire, node: Limit, name: "redigo", only: Select}:   "github.com/gomodule/redigo/…Pool).waitVacantConn",
	{op: Acquire, node: Limit, name: "ants", only: CondWait}:   "github.com/panjf2000/ants…retrieveWorker",
	{op: Acquire, node: Limit, name: "tunny"}:                  "github.com/Jeffail/tunny…Pool).Process github.com/Jeffail/tunny…Pool).ProcessTimed github.com/Jeffail/tunny…Pool).ProcessCtx",
	{op: Acquire, node: Limit, name: "conc", only: Select}:     "github.com/sourcegraph/conc/pool.…Pool).Go",
	{op: Acquire, node: Limit, name: "pond", only: Send}:       "github.com/alitto/pond.…WorkerPool).submit",
	{op: Acquire, node: Limit, name: "pond", only: Select}:     "github.com/alitto/pond/…pool).dispatchTask",
	{op: Acquire, node: Limit, name: "fasthttp", only: Select}: "github.com/valyala/fasthttp.…HostClient).acquireConn",
	{op: Acquire, node: Limit, name: "mongo", only: Select}:    "go.mongodb.org/mongo-driver/…wantConn).wait",
})

// selects are the lines of runtime.selectgo at which it wakes the other side, in Go 1.25 to
// 1.27.
var selects = map[int]portSide{497: sideReceive, 527: sideSend}

// Arrivals are the names of things outside at which a service waits for its load.
var Arrivals = []string{"new connections", "datagrams", "signals"}

// SlowReader is the name of a far end that takes no more of what is written.
const SlowReader = "slow reader"

// Pipe is the name of pipes of packages io and net: a channel of bytes.
const Pipe = "io.Pipe"

// Server reports whether a library starts goroutines with a function, each of which serves a
// connection.
func Server(function string) bool { return strings.HasSuffix(function, ").serve") }

// Connection reports whether a function belongs to the server's side of a connection of
// HTTP, which waits for requests.
func Connection(function string) bool { return strings.HasPrefix(function, "net/http.(*conn") }

// Client reports whether a function of a library asks another process and waits for the
// answer.
func Client(function string) bool {
	host, _, path := strings.Cut(function, "/")
	return path && (strings.Contains(host, ".") || anyPrefix(function, clients))
}

var clients = words("net/http. net/rpc. database/sql.")

// Refuses reports whether a library starts goroutines with a function only while there is
// room for more: what it refuses is not seen.
func Refuses(function string) bool { return strings.HasSuffix(function, ".TryGo.func1") }

// A pattern is a name with an ellipsis.
type pattern struct {
	begin, end string
	meaning
}

// byName returns the meanings of whole names, and those of names with an
// ellipsis, the longest first.
func byName(table map[meaning]string) (names map[string]meaning, open []pattern) {
	names = map[string]meaning{}
	for m, functions := range table {
		for function := range strings.FieldsSeq(functions) {
			if begin, end, ok := strings.Cut(function, "…"); ok {
				open = append(open, pattern{begin, end, m})
			} else {
				names[function] = m
			}
		}
	}
	slices.SortFunc(open, func(a, b pattern) int {
		return cmp.Or(cmp.Compare(len(b.begin)+len(b.end), len(a.begin)+len(a.end)), cmp.Compare(a.begin+a.end, b.begin+b.end))
	})
	return names, open
}

var words = strings.Fields

// moving are the methods and functions of this module's channels that move values. A
// call of one is a dozen frames that end in a lock or a park; it counts as one operation
// at the line that calls it.
var moving = map[string]Op{
	"Send": Send, "SendBatch": Send, "SendKey": Send, "SendAt": Send, "SendAfter": Send, "Flush": Send,
	"Recv": Receive, "RecvBatch": Receive, "All": Receive,
	"TrySend": PollSend, "TryRecv": PollReceive, "TryRecvBatch": PollReceive, "Drain": PollReceive,
	"Select": Select, "Close": Close,
}

// meaningOf returns what function does, if it is known. pkg is its package.
func meaningOf(function, pkg string) (m meaning, ok bool) {
	if m, ok = meanings[function]; ok {
		return m, true
	}
	switch pkg {
	case "runtime", "sync", "time", "os", "internal/sync":
		return m, false
	}
	if rest, ours := strings.CutPrefix(pkg, Module); ours && (rest == "" || rest[0] == '/') {
		return movingOf(function, pkg)
	}
	for _, p := range patterns {
		if strings.HasPrefix(function, p.begin) && strings.HasSuffix(closing(function), p.end) {
			return p.meaning, true
		}
	}
	return m, false
}

// movingOf returns the operation of a function of this module that moves values.
func movingOf(function, pkg string) (m meaning, ok bool) {
	if pkg == Module+"/internal/park" {
		return m, false
	}
	name := closing(function)
	op := moving[last(name)]
	if op == Close && pkg == Module+"/batch" {
		op = Send // Close of a batch.Sender flushes
	}
	return meaning{op: op, node: Channel}, op != Other
}

// last returns the last name of a function: its own, or a closure's number.
func last(function string) string { return function[strings.LastIndexByte(function, '.')+1:] }

// closing returns the function around a closure.
func closing(function string) string {
	for {
		name := last(function)
		digits := strings.TrimPrefix(name, "func")
		if len(name) == len(function) || digits == "" || strings.Trim(digits, "0123456789") != "" {
			return function
		}
		function = function[:len(function)-len(name)-1]
	}
}

// Module is the path of this module.
const Module = "github.com/sluice-go/sluice"

// programs are the folders of this module that use the library as any other program
// does.
var programs = set("bench cmd examples metrics stress sluicetest tools")

// standard are the folders of the standard library.
var standard = set("archive bufio bytes cmp compress container context crypto database embed encoding errors " +
	"expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv " +
	"strings structs sync syscall testing text time unicode unique unsafe vendor weak")

// machinery are the packages between an operation and the line that calls it.
var machinery = set("runtime internal/sync sync sync/atomic internal/poll syscall reflect")

// libraries are modules that are part of an operation of their caller even if the paths
// of a stack's files have no versions of modules.
var libraries = words("golang.org/x/ google.golang.org/grpc google.golang.org/protobuf go.uber.org/ go.opentelemetry.io/ go.mongodb.org/mongo-driver " +
	"github.com/jackc/ github.com/lib/pq github.com/go-sql-driver/ github.com/mattn/go-sqlite3 github.com/redis/ github.com/go-redis/ github.com/gomodule/redigo " +
	"github.com/panjf2000/ants github.com/Jeffail/tunny github.com/sourcegraph/conc github.com/alitto/pond github.com/gammazero/workerpool github.com/destel/rill " +
	"github.com/gin-gonic/gin github.com/labstack/echo github.com/go-chi/chi github.com/gorilla/ github.com/valyala/fasthttp github.com/gofiber/fiber " +
	"github.com/IBM/sarama github.com/Shopify/sarama github.com/segmentio/kafka-go github.com/twmb/franz-go github.com/nats-io/ " +
	"github.com/rabbitmq/ github.com/streadway/amqp github.com/prometheus/client_golang github.com/jmoiron/sqlx gorm.io/")

// routers choose the handler of a request: what is called below them is the job of the
// goroutine, and not the middleware around them.
var routers = set("net/http.(*ServeMux).ServeHTTP github.com/gorilla/mux.(*Router).ServeHTTP github.com/go-chi/chi.(*Mux).routeHTTP " +
	"github.com/go-chi/chi/v5.(*Mux).routeHTTP github.com/julienschmidt/httprouter.(*Router).ServeHTTP")

// observers are packages whose handlers show the service to the observer.
var observers = set("net/http/pprof runtime/pprof runtime/trace " + Module + "/livepage")

// wrappers are functions of those packages that run a part of the program.
var wrappers = set("runtime/pprof.Do runtime/trace.WithRegion")

func set(words string) map[string]bool {
	s := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		s[word] = true
	}
	return s
}

// A level is how far a function is from the program.
type level uint8

const (
	hidden  level = iota // the runtime, or generated by the compiler
	std                  // the standard library
	library              // a library, or this module
	program
)

// levelOf returns the level of a frame whose name has no type arguments.
func levelOf(function, file, pkg string) level {
	if machinery[pkg] || strings.HasPrefix(pkg, "internal/runtime/") || function == "time.Sleep" || function == timerSend {
		return hidden
	}
	if strings.IndexByte(function, '.') < 0 || file == "<autogenerated>" || strings.HasSuffix(function, "-fm") || wrapper(function) {
		return hidden // assembly and C, or the compiler
	}
	closure := strings.Contains(function, ".func")
	if pkg == "main" && !closure {
		return program
	}
	if rest, ours := strings.CutPrefix(pkg, Module); ours && (rest == "" || rest[0] == '/') {
		first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		if !programs[first] || closure && iterator(function, file) {
			return library
		}
		return program
	}
	first, _, _ := strings.Cut(pkg, "/")
	switch {
	case standard[first], closure && inStandard(file):
		return std
	case versioned(file), strings.Contains(file, "/vendor/"), closure && iterator(function, file), anyPrefix(pkg, libraries):
		return library
	}
	return program
}

// levelOfFunction is levelOf for a function of which nothing but the name is known.
func levelOfFunction(function string) level { return levelOf(function, "", packageOf(function)) }

// versioned reports whether a file belongs to a version of a module: the folder of a
// program may also have an @ in its name.
func versioned(file string) bool {
	_, version, _ := strings.Cut(file, "@v")
	return version != "" && version[0] >= '0' && version[0] <= '9'
}

// inlined are the files of the standard library whose closures the compiler inlines into
// programs: until Go 1.26 they have the name of the function around them.
var inlined = set("sync/oncefunc.go sync/waitgroup.go slices/iter.go maps/iter.go iter/iter.go")

func inStandard(file string) bool {
	if _, after, ok := strings.Cut(file, "/src/"); ok {
		file = after
	}
	return inlined[file]
}

// loops are the files of this module's iterators: until Go 1.26, the compiler names them
// after the function that they are inlined into: main.report.(*Values).All.func1.
var loops = set("values.go channel.go receive.go results.go receiver.go subscription.go")

func iterator(function, file string) bool {
	name := closing(function)
	if !strings.HasSuffix(name, ").All") && !strings.HasSuffix(name, ").Drain") {
		return false // a trace has millions of frames
	}
	return loops[path.Base(strings.ReplaceAll(file, `\`, "/"))]
}

// timerSend sends the time to the channel of a timer that fired: the scheduler calls it,
// and a receive from that channel.
const timerSend = "time.sendTime"

// timerCall starts a goroutine for the callback of time.AfterFunc.
const timerCall = "time.goFunc"

// wrapper reports whether the compiler generated function for a go or defer statement
// with arguments, such as main.main.gowrap1.
func wrapper(function string) bool {
	name := strings.TrimRight(last(function), "0123456789")
	return name == "gowrap" || name == "deferwrap"
}

// starters are names of functions that only call, in a goroutine, what they are given, such
// as the Go method of a group of the program's own.
var starters = set("Go TryGo SafeGo GoSafe GoCtx GoWithContext RunSafe Spawn Async")

func starter(function string) bool {
	outer := closing(function)
	return outer != function && starters[last(outer)]
}

// plain removes type arguments from a function's name, and the suffix of the body of a
// loop over an iterator: main.(*Queue[go.shape.int]).Put in a profile is
// main.(*Queue[...]).Put in a trace, and main.(*Queue[...]).Put-range1 in a loop.
func plain(function string) string {
	if at := strings.LastIndex(function, "-range"); at >= 0 && strings.Trim(function[at+len("-range"):], "0123456789") == "" {
		return plain(function[:at])
	}
	if strings.IndexByte(function, '[') < 0 {
		return function
	}
	var b strings.Builder
	depth := 0
	for _, r := range function {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth = max(0, depth-1)
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// packageOf returns the import path of a function's package.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	if dot := strings.IndexByte(function[slash:], '.'); dot >= 0 {
		return function[:slash+dot]
	}
	return function
}
