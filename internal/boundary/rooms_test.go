package boundary

// Reasons that several rows share.
const (
	theLibrary  = "what is measured, or tested, by its public names"
	theContract = "the words that kinds and engines share"
	contenders  = "the channels to compare, as bench describes them"
	workloads   = "the jobs to give them"
	lineBreaks  = "numbers, units and lines are written in one way"
	measuring   = "what a measured point is"
	theEvent    = "what a line says"
	addedUp     = "which figures there are, added up by name"
	theStacks   = "the frames of its functions are those that the doctor knows"
	addresses   = "the address of a service, as it is given on a command line"
	inRounds    = "medians, and for which GOMAXPROCS"
)

// rooms is the table. Imports point one way: commands to packages, kinds to
// engines, engines to parts; nothing points back.
var rooms = map[string]room{
	// The library.
	".": {
		imports: permissions{
			"./internal/foreign":   "a Select waits for channels that have no engine here",
			"./internal/callsite":  "a channel with a name learns who uses it",
			"./internal/engine":    theContract,
			"./internal/registry":  "a channel with a name is listed",
			"./internal/spin":      "the compiler inlines its locks here: see inlined.go",
			"./internal/segqueue":  "the engine of kinds with many slots",
			"./internal/handoff":   "the engine of kinds with few or none",
			"./internal/shard":     "the engine of kinds for many CPUs",
			"./internal/priority":  "the engine of kinds with levels, and with times",
			"./internal/park":      "how a Select parks",
			"./internal/selection": "the state of a Select",
			"./internal/waitq":     "the compiler inlines Queue.Waiting in the package that makes a channel: see inlined.go",
			"math/rand/v2":         "a Select chooses among what is ready at random",
			"runtime":              "a Select yields once before it parks; a lane in use is kept alive",
			"time":                 "Stats reports durations, a Delay is told times; no clock is read",
		},
		tests: permissions{
			"./sluicetest": "every kind must pass the suite",
			"./inspect":    "an example watches a queue",
			"./batch":      "a recipe writes in batches",
			"./fan":        "a recipe joins channels",
		},
	},
	"inspect": {
		imports: permissions{
			"./":                  "Stats",
			"./internal/engine":   "snapshots, in the form that engines return",
			"./internal/flow":     "the functions that use a channel",
			"./internal/registry": "the named channels",
			"time":                "the ages of waits; no clock is read",
		},
		tests: permissions{
			"./internal/handoff": "a Bounded without the hand-off",
		},
	},
	"internal/callsite": {
		imports: permissions{
			"math":    "weights are halved",
			"reflect": "the address of a function, once per call of Run",
			"runtime": "the stack of the caller",
			"sync":    "a lock that a sampler only tries",
			"time":    "ages of samples; no clock is read",
		},
	},
	"internal/flow": {
		imports: permissions{
			"./internal/callsite": "the stacks that a map is drawn from",
			"maps":                "functions by name",
			"runtime":             "the names of functions",
			"runtime/debug":       "which modules belong to the program",
			"sync":                "the modules are read once",
			"time":                "ages of waits; no clock is read",
		},
		tests: permissions{
			"./":                  "channels whose users are sampled",
			"./bridge":            "a goroutine of the library",
			"./internal/registry": "the call sites of channels",
			"./workers":           "goroutines of the library",
		},
	},
	"internal/reading": {
		imports: permissions{
			"./":                  "Stats",
			"./inspect":           "the channels to read",
			"./internal/registry": "which of them may block",
			"maps":                "calls that have returned are dropped",
			"time":                "how long a reader waits; no clock is read",
		},
	},
	"internal/registry": {
		imports: permissions{
			"./internal/callsite": "who uses a channel",
			"./internal/engine":   "what is registered, and its Stats",
			"runtime":             "a channel that is garbage is removed",
			"sync":                "the list has a mutex",
			"unicode/utf8":        "long names are cut between two characters",
			"weak":                "the list keeps no channel alive",
		},
	},
	"batch": {
		imports: permissions{
			"./":                  "the channels that batches are sent to, and received from",
			"./internal/callsite": "which function the timer of a Sender works for",
			"./internal/engine":   theContract,
			"./internal/made":     "a sender without a channel below it would lose values",
			"./internal/stage":    "a loop over batches that ends early closes its channel",
			"./internal/park":     "the owner of a Sender parks while its timer's flush waits",
			"./internal/spin":     "the locks that an owner shares with its timer",
			"math":                "the largest size",
			"time":                "a linger is timed; the clock is read for values that wait for the next batch",
			"unsafe":              "Sizeof, and nothing else of it",
		},
	},
	"bridge": {
		imports: permissions{
			"./":                  "the channels between built-in ones",
			"./internal/callsite": "which function the goroutines of this package work for",
			"./internal/made":     "a value that was received must have somewhere to go",
			"./internal/stage":    "ToChan closes its channel if it ends early",
			"sync":                "Stop waits for the goroutines of a Pipe, and runs once",
		},
		tests: permissions{
			"./batch":   "a stage that takes built-in channels",
			"./workers": "a stage that takes built-in channels",
		},
	},
	"source": {
		imports: permissions{
			"./":                "how a receiver reports that no values are left",
			"./internal/engine": theContract,
			"sync":              "Close closes a channel once",
		},
		tests: permissions{
			"./batch":   "a stage that receives from a source, and ends early",
			"./bridge":  "a stage that receives from a source, and ends early",
			"./workers": "a stage that receives from a source, and ends early",
		},
	},
	"semaphore": {
		imports: permissions{
			"./internal/park": "goroutines park until they have their permits",
			"./internal/spin": "the lock of those that wait",
		},
		tests: permissions{"./": "a queue whose values count until their work is done"},
	},
	"workers": {
		imports: permissions{
			"./":                  "where jobs come from, and its error when it is closed",
			"./internal/callsite": "which function the goroutines of this package work for",
			"./internal/engine":   theContract,
			"./internal/stage":    "an early end closes the receiver",
			"./internal/workpool": "the pool of Run and Map",
			"runtime":             "a worker can have a thread of its own; a Goexit of f is repeated in the caller",
			"sync":                "callers wait for the workers; results start once",
			"time":                "the options have durations; no clock is read",
		},
		tests: permissions{
			"./batch":  "a stage of the pipeline in an example",
			"./fan":    "recipes with failures",
			"./source": "the reader of that pipeline",
		},
	},
	"fan": {
		imports: permissions{
			"./":               "what values come from and go to, and Select",
			"./internal/made":  "to refuse a channel that no constructor made; Select waits for one of sluice without a timer",
			"./internal/stage": "an early end closes the inputs",
		},
		tests: permissions{
			"./sluicetest": "values that must not be kept alive",
			"./workers":    "results are an input",
			"./source":     "an iterator is an input",
		},
	},
	"hub": {
		imports: permissions{
			"./":                   "the errors, and the interfaces of both ends",
			"./internal/broadcast": "the engine",
			"./internal/engine":    "how a Select finds the engine of an end",
			"./internal/registry":  "a subscription with a name is listed",
			"time":                 "the time until an eviction; no clock is read",
		},
		tests: permissions{
			"./batch":      "a subscription is the input of a stage",
			"./bridge":     "a subscription is the input of a stage",
			"./fan":        "a subscription is the input of a stage, a Hub the output",
			"./inspect":    "a subscription with a name is listed",
			"./sluicetest": "a Hub with one subscription is a channel",
			"./workers":    "a subscription is the input of a stage",
		},
	},
	"internal/broadcast": {
		imports: permissions{
			"./internal/age":       "the age of the oldest value",
			"./internal/engine":    theContract,
			"./internal/park":      "the clock of waits",
			"./internal/ring":      "the queue of a subscription that drops its newest values",
			"./internal/selection": "the state of a Select that waits here",
			"./internal/spin":      "the lock of a Hub, and how its waiters spin",
			"./internal/waitq":     "senders wait for room, receivers for values",
			"time":                 "a timer evicts a subscription",
		},
	},
	"livepage": {
		imports: permissions{
			"./inspect":           "named channels",
			"./internal/flow":     "the map",
			"./internal/reading":  "a channel whose Stats block holds up no other",
			"./internal/registry": "the call sites of channels",
			"./":                  "the channels to show, by their public names",
			"bytes":               "an event is written at once",
			"embed":               "the page is part of the program",
			"encoding/json":       "what a page and a program are told",
			"maps":                "the columns, by name, for a complaint",
			"net":                 "the name in a Host, without its port",
			"net/http":            "it is a handler; nothing in the library but this one may be reached from outside",
			"net/netip":           "a Host that is an address cannot be a rebound name",
			"net/url":             "queries",
			"sync":                "clients share what was seen",
			"time":                "rates are by the clock, and an update comes once a second",
		},
		tests: permissions{
			"./batch":   "a stage whose values the timer of a Sender sends",
			"./workers": "a stage whose values workers receive",
		},
	},
	"metrics/internal/tally": {
		imports: permissions{
			"./inspect":          "named channels",
			"./internal/reading": "a channel whose Stats block holds up no other",
			"./":                 "the channels to add up, by their public names",
			"math":               "the capacity of a channel without a limit",
			"sync":               "one look at a time",
			"time":               "Stats reports durations; a look waits for at most a second",
			"unicode":            "names that can be shown",
			"unicode/utf8":       "names that can be shown",
		},
	},
	"codec": {
		imports: permissions{
			"encoding":      "types that have a form of their own",
			"encoding/json": "the form of those that have none",
			"reflect":       "a pointer to such a type, which is to be made",
		},
	},
	"internal/foreign": {
		imports: permissions{
			"./internal/park":      "a watcher waits for Ready; waits are counted",
			"./internal/selection": "the state of the Select that is to poll again",
			"sync":                 "Selects share watchers, a timer and a Select an entry",
			"time":                 "a channel that cannot announce room is tried again later",
		},
	},
	"internal/stage": { // nothing but methods of what it is given
		tests: permissions{
			"./":        "the channels between stages, which all end in each way",
			"./batch":   "a stage that ends in each way",
			"./bridge":  "a stage that ends in each way",
			"./fan":     "a stage that ends in each way",
			"./hub":     "a hub, whose subscriptions end in each way",
			"./source":  "a stage that ends in each way",
			"./workers": "a stage that ends in each way",
		},
	},
	"internal/made": {
		imports: permissions{
			"./internal/stage": "the channel that LeaveOpen wraps",
			"reflect":          "is it a type of package sluice, and nil or zero? asked once per constructor",
		},
		tests: permissions{"./": "channels, made and not"},
	},
	"internal/engine": {
		imports: permissions{
			"reflect":              "whether a type contains pointers, once per channel",
			"unsafe":               "Sizeof, and nothing else of it",
			"./internal/callsite":  "where a channel with a name keeps its call sites",
			"./internal/park":      "the wait statistics of a Select",
			"./internal/selection": "the state that the entries of a Select share",
			"time":                 "Stats reports durations; no clock is read",
		},
	},
	"internal/segqueue": {
		imports: permissions{
			"./internal/age":      "the age of the oldest value",
			"./internal/callsite": "samples of call sites",
			"./internal/engine":   theContract,
			"./internal/park":     "the clock by which waits are measured",
			"./internal/ring":     "the marks of a meter",
			"./internal/spin":     "short locks, and whether to spin before a wait",
			"./internal/waitq":    "the wait queue of each side",
			"math":                "the largest limit",
			"runtime":             "with one P a yield comes before the wait queue",
			"sync":                "Ready's token is posted under a mutex, off every fast path",
			"time":                "how long a goroutine has waited; no clock is read",
			"unsafe":              "Sizeof, and nothing else of it",
		},
		tests:    permissions{"./internal/selection": "the state of a Select that waits here"},
		pointers: permissions{"layout_test.go": "the position of an engine in its cache lines"},
	},
	"internal/shard": {
		imports: permissions{
			"./internal/callsite": "samples of call sites",
			"./internal/engine":   theContract,
			"./internal/park":     "the clock by which waits are measured",
			"./internal/segqueue": "the engine of each lane",
			"./internal/spin":     "whether to spin before a wait",
			"./internal/waitq":    "the wait queues of all lanes",
			"math":                "the largest capacity",
			"runtime":             "the number of Ps; a yield before the wait queue; the cleanup of an unreachable handle",
			"sync":                "a sync.Pool returns to a P what was put there",
			"time":                "how long a goroutine has waited; no clock is read",
			"unsafe":              "the address of a goroutine's stack",
		},
		pointers: permissions{
			"affinity.go":     "the address of a goroutine's stack, as a number: it selects a table entry",
			"traffic_test.go": "which cache lines change",
		},
	},
	"internal/handoff": {
		imports: permissions{
			"./internal/age":       "the age of the oldest value",
			"./internal/callsite":  "samples of call sites",
			"./internal/engine":    theContract,
			"./internal/park":      "waiters park",
			"./internal/ring":      "the buffer of queued values",
			"./internal/selection": "the state of a Select that waits here",
			"./internal/spin":      "the lock of the engine",
			"runtime":              "one yield before parking",
			"time":                 "how long a goroutine has waited; no clock is read",
			"unsafe":               "Sizeof, and nothing else of it",
		},
	},
	"internal/priority": {
		imports: permissions{
			"./internal/age":       "the age of the oldest value",
			"./internal/callsite":  "samples of call sites",
			"./internal/engine":    theContract,
			"./internal/park":      "the clock by which waits are measured",
			"./internal/ring":      "the values of a level",
			"./internal/selection": "the state of a Select that waits here",
			"./internal/spin":      "the lock of the engine, and whether to spin before a wait",
			"./internal/waitq":     "the wait queues of receivers, and of the senders of a level",
			"math":                 "the number of passes that is never reached",
			"runtime":              "GOMAXPROCS: with one P a spin would keep the other side from running",
			"time":                 "durations of waits, and the timer of a schedule",
			"weak":                 "the timer of a schedule does not keep its channel alive",
		},
	},
	"internal/workpool": {
		imports: permissions{
			"./internal/engine":   "the context of a receive that must not wait",
			"./internal/segqueue": "the channel behind Ready",
			"./internal/spin":     "short locks, and whether to spin before a wait",
			"./internal/waitq":    "the wait queues of idle workers, and of receivers of results",
			"math":                "no limit is the largest number",
			"runtime/debug":       "the stack of a panic, for the goroutine in which it is raised again",
			"sync":                "receivers of results take turns; the turns of keys are under one lock",
			"time":                "the batch size follows from the measured time of jobs",
		},
	},
	"internal/waitq": {
		imports: permissions{
			"./internal/park":      "waiters park",
			"./internal/selection": "the state of a Select that waits here",
			"./internal/spin":      "the lock of a queue",
			"math":                 "the bounds of counters",
			"time":                 "how long a goroutine has waited; no clock is read",
		},
	},
	"internal/selection": {
		imports: permissions{
			"./internal/park": "a Select parks",
			"time":            "how long a Select has waited",
		},
	},
	"internal/spin": {
		imports: permissions{
			"math/rand/v2": "a wait without credit draws lots whether to spin",
			"runtime":      "a goroutine that finds a lock taken yields to its holder",
			"sync":         "a Gate is a mutex, which belongs to no testing/synctest bubble",
		},
	},
	"internal/park": {
		imports: permissions{
			"./internal/callsite": "a wait of a channel with a name is a chance to learn its caller",
			"time":                "the time spent in waits is sampled",
		},
	},
	"internal/age": {
		imports: permissions{"time": "ages are durations; no clock is read"},
		tests:   permissions{"unsafe": "Sizeof, and nothing else of it"},
	},
	"internal/ring": {},

	// Its tests.
	"internal/boundary": {},
	"docs":              {},
	"sluicetest": {
		imports: permissions{
			"./":               theLibrary,
			"math":             "the largest of integers as a length",
			"math/rand/v2":     "random steps, from a seed that a failure prints",
			"os":               "the watchdog prints stacks and ends the process",
			"runtime":          "goroutines, memory and collections are counted",
			"sync":             "goroutines of a test are joined",
			"testing":          "it is a suite of tests",
			"testing/synctest": "who is parked, without timeouts",
			"time":             "the watchdog's minute",
			"weak":             "what was received must not be kept alive",
		},
		tests: permissions{
			"./sluicetest/internal/mutant": "each fault must fail the suite",
		},
	},
	"sluicetest/internal/mutant": {
		imports: permissions{
			"./":      theLibrary,
			"runtime": "a fault is a goroutine that stays",
			"sync":    "a channel that is correct because it is simple: one mutex",
			"time":    "Stats reports the time of waits, and a fault reports it wrong",
		},
	},
	"examples/logcount": {
		imports: permissions{
			"./":             "the channel between reader and workers",
			"./batch":        "counts in batches",
			"./workers":      "parses on all processors",
			"bufio":          "cuts lines",
			"io":             "the input and the output",
			"maps":           "the rows of the table",
			"os":             "files, arguments and the exit status",
			"os/signal":      "an interrupt ends the program cleanly",
			"runtime":        "a worker per processor",
			"text/tabwriter": "aligns the table",
			"time":           "the linger of a batch",
		},
	},
	"examples/faninlogs": {
		imports: permissions{
			"./":        "a queue for each log",
			"./fan":     "merges the queues",
			"bufio":     "cuts lines",
			"flag":      "the rate of the sink",
			"io":        "the logs and the sink",
			"log":       "the account, which several goroutines write",
			"os":        "files and the exit status",
			"os/signal": "an interrupt ends the program cleanly",
			"sync":      "the end waits for all goroutines",
			"time":      "the rate of the sink",
		},
	},
	"examples/orderedmap": {
		imports: permissions{
			"./source":      "the rows of a file",
			"./workers":     "hashes rows on all processors",
			"crypto/pbkdf2": "work that takes its time",
			"crypto/sha256": "the hash below it",
			"encoding/csv":  "the file",
			"encoding/hex":  "the pseudonyms",
			"flag":          "the key",
			"io":            "the input and the output",
			"os":            "files and the exit status",
			"os/signal":     "an interrupt ends the program cleanly",
			"runtime":       "a worker per processor",
		},
	},
	"examples/prices": {
		imports: permissions{
			"./hub":     "the broadcast",
			"flag":      "the address",
			"io":        "the body of a request",
			"log":       "the account of a subscriber",
			"net":       "the listener",
			"net/http":  "the server",
			"os":        "the interrupt",
			"os/signal": "an interrupt ends the program cleanly",
			"time":      "how long the end may take",
		},
	},
	"examples/workerpool": {
		imports: permissions{
			"./":            "the queue of the pool",
			"./workers":     "the pool",
			"crypto/sha256": "the work",
			"flag":          "the number of workers",
			"io":            "reads files",
			"io/fs":         "walks folders",
			"log":           "lines that several workers print",
			"os":            "files and the exit status",
			"os/signal":     "an interrupt ends the program cleanly",
			"path/filepath": "walks folders",
			"runtime":       "a worker per processor",
		},
	},
	"examples/services/observed": {
		imports: permissions{
			"./":                   "the named channels",
			"./batch":              "takes the lock of the index once for several documents",
			"./livepage":           "the live page",
			"./metrics/prometheus": "the metrics",
			"./workers":            "counts words on all processors",
			"github.com/prometheus/client_golang/prometheus":          "the registry of metrics",
			"github.com/prometheus/client_golang/prometheus/promhttp": "the page of metrics",
		},
	},
	"examples/services/outbox": {
		imports: permissions{
			"./spill":   "the queue on disk",
			"./workers": "delivers several orders at once",
		},
	},
	"examples/services/sqlitewriter": {
		imports: permissions{
			"./":                 "the queue of rows",
			"./batch":            "a batch for each transaction",
			"modernc.org/sqlite": "the database, without cgo",
		},
	},
	"examples/services/twoprocesses": {
		imports: permissions{
			"./jetstream": "the channel between processes",
			"./workers":   "receives and acknowledges",
			"github.com/nats-io/nats-server/v2/server": "a server for first steps",
		},
	},
	"examples/moving": {
		tests: permissions{
			"./":          "channels in the place of theirs",
			"./batch":     "batches in the place of theirs",
			"./bridge":    "a stream that is a built-in channel",
			"./fan":       "streams that are merged and copied",
			"./semaphore": "pools that are resized, or share a limit",
			"./source":    "slices and iterators as streams",
			"./workers":   "pools and parallel maps in the place of theirs",
		},
	},
	"stress": {
		imports: permissions{
			"./":                                theLibrary,
			"github.com/anishathalye/porcupine": "checks histories for linearizability",
		},
		tests: permissions{
			"./batch":            "slices by reference are in one order with single values",
			"./bridge":           "its goroutines end too",
			"./hub":              "histories of a Hub are checked for linearizability",
			"./spill":            "histories of channels on disk are checked for linearizability",
			"go.uber.org/goleak": "no goroutine may be left",
		},
	},

	// Channels that do not end with the memory, or the process.
	"spill": {
		imports: permissions{
			"./inspect":                 "named channels",
			"./":                        "the head of the queue is an Elastic; the library's errors and Stats",
			"./codec":                   "values as bytes",
			"./internal/age":            "the age of the oldest value",
			"./internal/engine":         "sizes of values, as package sluice computes them",
			"./internal/park":           "the clock of the ages",
			"./spill/internal/disk":     "the folder of the records, which tests replace",
			"./spill/internal/logstore": "the records of a Durable",
			"go.etcd.io/bbolt":          "the file that says what a queue is, and had the records",
			"go.etcd.io/bbolt/errors":   "a file that another process has locked",
			"golang.org/x/sys/unix":     "files without a name",
			"unsafe":                    "Sizeof, and nothing else of it",
		},
		tests: permissions{
			"./sluicetest":             "both kinds must pass the suite",
			"./fan":                    "channels on disk beside those in memory",
			"./internal/ramdir":        "folders for suites that make many files",
			"./spill/internal/crash":   "the load that is killed, and its ledger",
			"./spill/internal/simdisk": "a disk that fails, is full, and crashes",
			"./workers":                "a stage that fails closes a Durable and loses nothing",
		},
	},
	"spill/internal/logstore": {
		imports: permissions{
			"./spill/internal/disk": "the folder",
		},
		tests: permissions{
			"./spill/internal/simdisk": "a disk that fails, is full, and crashes",
		},
	},
	"spill/internal/disk": {
		imports: permissions{
			"golang.org/x/sys/unix":    "locks on Solaris and AIX",
			"golang.org/x/sys/windows": "locks on Windows",
		},
	},
	"spill/internal/simdisk": {
		imports: permissions{
			"./spill/internal/disk": "what it simulates",
		},
	},
	"spill/internal/crash": {
		imports: permissions{
			"./":      "the error of an empty queue",
			"./spill": "what is put to the proof",
		},
	},
	"internal/loopdisk": {
		imports: permissions{
			"os":      "the image, and the file system that is shut down",
			"os/exec": "mkfs, mount and umount",
			"syscall": "the shutdown of a file system",
			"unsafe":  "the argument of a system call",
		},
		pointers: permissions{"disk_linux.go": "the argument of a system call"},
	},
	"internal/ramdir": {
		imports: permissions{
			"os":      "the folder",
			"syscall": "how much of the memory is free",
			"testing": "the folder is removed when the test ends",
		},
	},
	"spill/internal/powercut": {
		imports: permissions{
			"./internal/loopdisk":    "the file system whose power fails",
			"./spill/internal/crash": "the load, and its account",
		},
	},

	// What tells metrics systems of channels: a module for each.
	"metrics/prometheus": {
		imports: permissions{
			"./metrics/internal/tally":                       addedUp,
			"github.com/prometheus/client_golang/prometheus": "whom it tells",
		},
		tests: permissions{
			"./inspect": "named channels",
			"./":        theLibrary,
			"github.com/prometheus/client_golang/prometheus/promhttp": "a program that is scraped",
			"github.com/prometheus/client_golang/prometheus/testutil": "Prometheus's own lint",
			"github.com/prometheus/client_model/go":                   "what a scrape came to",
			"github.com/prometheus/common/expfmt":                     "reads what is told as Prometheus does",
			"github.com/prometheus/common/model":                      "which names are valid",
		},
	},
	"metrics/otel": {
		imports: permissions{
			"./metrics/internal/tally":           addedUp,
			"go.opentelemetry.io/otel/attribute": "the channels behind a figure",
			"go.opentelemetry.io/otel/metric":    "whom it tells",
		},
		tests: permissions{
			"./":        theLibrary,
			"./inspect": "named channels",
			"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric": "one export",
			"go.opentelemetry.io/otel/metric/noop":                   "a provider that refuses",
			"go.opentelemetry.io/otel/sdk/metric":                    "a provider with readers",
			"go.opentelemetry.io/otel/sdk/metric/metricdata":         "what a reader collected",
		},
	},

	// Past one process.
	"jetstream": {
		imports: permissions{
			"./inspect":              "named channels",
			"./":                     "the channel interfaces and errors",
			"./codec":                "encodes values",
			"github.com/gofrs/flock": "one process per directory of the embedded server, on every system",
			"github.com/nats-io/nats-server/v2/server": "the embedded server",
			"github.com/nats-io/nats.go":               "the NATS client",
			"github.com/nats-io/nats.go/jetstream":     "its JetStream client",
			"github.com/nats-io/nuid":                  "unique identities of senders",
		},
		tests: permissions{
			"./internal/loopdisk": "file systems of servers whose power fails",
			"./internal/ramdir":   "folders for servers that are not about the disk",
			"./sluicetest":        "the conformance suite",
			"./fan":               "it moves values between kinds and servers",
			"./workers":           "workers receive deliveries",
			"go.uber.org/goleak":  "no goroutine may outlive the tests",

			"github.com/anishathalye/porcupine": "checks histories",
		},
	},

	// The comparisons.
	"bench": {
		tests: permissions{
			"./":                theLibrary,
			"./workers":         theLibrary,
			"./batch":           theLibrary,
			"./bench/contender": contenders,
			"./bench/peers":     "contenders made of other libraries",
			"./bench/workload":  workloads,

			"./semaphore":                 theLibrary,
			"golang.org/x/sync/semaphore": "what ours is compared with",
		},
	},
	"bench/cacheline": {},
	"bench/contender": {
		imports: permissions{
			"./":                 theLibrary,
			"./workers":          theLibrary,
			"./internal/engine":  "a Rendezvous without the hand-off, which the library does not offer",
			"./internal/handoff": "a Rendezvous without the hand-off, which the library does not offer",
			"./batch":            theLibrary,
			"./bridge":           theLibrary,
		},
	},
	"bench/workload": {
		imports: permissions{"./bench/contender": contenders},
		tests: permissions{
			"./":            theLibrary,
			"./bench/peers": "each contender does each job once",
		},
	},
	"bench/peers": {
		imports: permissions{
			"./bench/contender":             contenders,
			"github.com/eapache/channels":   "a peer",
			"github.com/puzpuzpuz/xsync/v4": "a peer",
			"github.com/smallnest/chanx":    "a peer",
			"golang.design/x/chann":         "a peer",
		},
	},
	"bench/cmd/ratios": {
		imports: permissions{
			"./bench/cacheline": "a figure says little without the distance of the cores",
			"./bench/contender": contenders,
			"./bench/peers":     "the table shows them beside our rows",
			"./bench/results":   "the machine, and the form of the document",
			"./bench/rounds":    inRounds,
			"./bench/workload":  workloads,
		},
	},

	"bench/cmd/rust": {
		imports: permissions{
			"./bench/contender": contenders,
			"./bench/results":   "the machine",
			"./bench/rounds":    inRounds,
			"./bench/workload":  workloads,
		},
	},

	"bench/paced": {
		imports: permissions{
			"./bench/contender":     contenders,
			"./bench/workload":      "a job of a given length",
			"golang.org/x/sys/unix": "timers that the network poller waits for",
		},
	},
	"bench/cmd/hub": {
		imports: permissions{
			"./":             "a Bounded for each subscriber",
			"./bench/paced":  "the CPU time of the process",
			"./bench/rounds": inRounds,
			"./hub":          theLibrary,
		},
	},
	"bench/cmd/batches": {
		imports: permissions{
			"./":             "a Bounded beside the built-in channel",
			"./batch":        "batches of a Sender",
			"./bench/rounds": inRounds,
			"unsafe":         "the size of a value",
		},
	},
	"bench/cmd/paced": {
		imports: permissions{
			"./bench/contender": contenders,
			"./bench/paced":     "the load, and what is measured",
			"./bench/peers":     "a channel with built-in ends, beside Pipe",
			"./bench/results":   "the machine, and the form of the document",
			"./bench/rounds":    inRounds,
			"./bench/workload":  workloads,
		},
	},

	"bench/results": {},
	"bench/rounds":  {imports: permissions{"./bench/results": "the machine, and the form of the document"}},

	"bench/sim": {
		tests: permissions{
			"./":     "the lines that real channels change",
			"unsafe": "the bytes of a real channel",
		},
		pointers: permissions{"lines_test.go": "which cache lines an operation has changed is not visible otherwise"},
	},
	"bench/cmd/sim": {
		imports: permissions{"./bench/sim": "what it prints"},
	},

	// The examples: commands at the top, then pipeline -> input, sink -> queue, count ->
	// parse.
	"bench/logagg": {
		imports: permissions{
			"./bench/results":                                "its table stands beside the others",
			"./livepage":                                     "the live page",
			"./bench/logagg/count":                           "the summary at the end",
			"./bench/logagg/input":                           "what is read",
			"./bench/logagg/pipeline":                        "the service",
			"./bench/logagg/queue":                           "its hot channel",
			"./bench/logagg/sink":                            "where counts go",
			"./bench/logagg/speed":                           "the comparison of channels",
			"./bench/logagg/traffic":                         "lines to send to a service",
			"./metrics/prometheus":                           "the channels for Prometheus",
			"github.com/prometheus/client_golang/prometheus": "the service's own metrics",
			"github.com/prometheus/client_golang/prometheus/collectors": "the runtime's and the process's",
			"github.com/prometheus/client_golang/prometheus/promhttp":   "the page of metrics",
		},
		tests: permissions{
			"./bench/logagg/frame":                     "the sample is written line by line",
			"./bench/logagg/parse":                     "counts from a file are sorted as a table is",
			"github.com/nats-io/nats-server/v2/server": "servers between two halves, which are stopped and killed",
			"github.com/nats-io/nats.go":               "how much is left in them",
			"github.com/nats-io/nats.go/jetstream":     "the same",
		},
	},
	"bench/logagg/frame": {},
	"bench/logagg/parse": {
		imports: permissions{"github.com/valyala/fastjson": "JSON at a tenth of encoding/json's time, and without allocating"},
		tests: permissions{
			"github.com/leodido/go-syslog/v4/rfc3164": "what headers say, from a parser that others trust",
			"github.com/leodido/go-syslog/v4/rfc5424": "the same",
		},
	},
	"bench/logagg/queue": {
		imports: permissions{
			"./":                   "the channels to choose from",
			"./jetstream":          "one of them, at servers",
			"./spill":              "two of them, on disk",
			"./bench/logagg/parse": theEvent,
		},
	},
	"bench/logagg/count": {
		imports: permissions{"./bench/logagg/parse": theEvent},
	},
	"bench/logagg/sink": {
		imports: permissions{
			"./bench/logagg/count":           "what is shipped",
			"github.com/cenkalti/backoff/v5": "when to try again",
		},
		tests: permissions{"./bench/logagg/parse": theEvent},
	},
	"bench/logagg/input": {
		imports: permissions{
			"./bench/logagg/frame": "where lines end",
			"./bench/logagg/parse": "what they say",
			"./bench/logagg/queue": "where that goes",
		},
	},
	"bench/logagg/pipeline": {
		imports: permissions{
			"./":                   "tables on their way to the sink",
			"./bench/logagg/count": "the stage that counts",
			"./bench/logagg/input": "the stage that reads",
			"./bench/logagg/parse": theEvent,
			"./bench/logagg/queue": "what lies between",
		},
		tests: permissions{"./bench/logagg/traffic": "lines, and what they must lead to"},
	},
	"bench/logagg/traffic": {
		imports: permissions{
			"./bench/logagg/count": "what lines must lead to",
			"./bench/logagg/parse": theEvent,
		},
		tests: permissions{"./bench/logagg/frame": "what was written is read again"},
	},
	"bench/logagg/speed": {
		imports: permissions{
			"./bench/results":                 "the machine, and the form of the document",
			"./bench/logagg/input":            "a source of connections",
			"./bench/logagg/pipeline":         "what is measured",
			"./bench/logagg/queue":            "in which variants",
			"./bench/logagg/sink":             "one that costs nothing",
			"github.com/google/pprof/profile": "where CPU time goes",
		},
		tests: permissions{"./bench/logagg/traffic": "lines to send"},
	},

	// The doctor's evaluation: services with known bottlenecks, and their scores.
	"bench/doctorlab/scenario": {
		imports: permissions{
			"./":         "some services and remedies use the library's kinds",
			"./livepage": "services with the library's kinds serve their map",
		},
		tests: permissions{"github.com/google/pprof/profile": "which functions use CPU time"},
	},
	"bench/doctorlab/trial": {
		imports: permissions{
			"./bench/results":                 "the machine that figures are from",
			"github.com/google/pprof/profile": "removes the program's path from fixtures",
		},
	},

	// The tool: flags at the top, then experiment -> measure -> stat -> report.
	"cmd/sluice": {
		imports: permissions{
			"./cmd/sluice/internal/address":    addresses,
			"./cmd/sluice/internal/compare":    "reports the differences between two runs",
			"./cmd/sluice/internal/lab":        "what there is to run",
			"./cmd/sluice/internal/completion": "scripts that complete command lines",
			"./cmd/sluice/internal/doctor":     "what is wrong with a service",
			"./cmd/sluice/internal/format":     lineBreaks,
			"./cmd/sluice/internal/host":       "where it is run, and how quiet it is there",
			"./cmd/sluice/internal/measure":    "runs it",
			"./cmd/sluice/internal/predict":    "predicts how a curve continues",
			"./cmd/sluice/internal/profile":    "reads what a service shows of itself",
			"./cmd/sluice/internal/progress":   "shows the progress",
			"./cmd/sluice/internal/report":     "writes what came out",
			"./cmd/sluice/internal/stat":       "the rule by which a point is run longer",
			"./cmd/sluice/internal/watch":      "shows the channels of a service",
			"github.com/alecthomas/kong":       "the command line",
			"golang.org/x/term":                "the width of a terminal",
		},
		tests: permissions{
			"golang.org/x/sys/unix": "a terminal of its own, to be left as it was",
			"./":                    theLibrary,
			"./livepage":            "a service to watch",
		},
	},
	"cmd/sluice/internal/address": {},
	"cmd/sluice/internal/compare": {
		imports: permissions{
			"./cmd/sluice/internal/format": lineBreaks,
			"golang.org/x/perf/benchfmt":   "the files that it compares",
			"golang.org/x/perf/benchmath":  "medians and tests as benchstat has them",
			"golang.org/x/perf/benchunit":  "figures as benchstat writes them",
		},
	},
	"cmd/sluice/internal/compare/rates": {imports: permissions{"./cmd/sluice/internal/compare": "what it counts the errors of"}},
	"cmd/sluice/internal/completion":    {imports: permissions{"github.com/alecthomas/kong": "the commands and flags to complete"}},
	"cmd/sluice/internal/lab": {
		imports: permissions{
			"./":                            theLibrary,
			"./bench/contender":             contenders,
			"./bench/paced":                 "loads at a given rate",
			"./bench/workload":              workloads,
			"./cmd/sluice/internal/format":  lineBreaks,
			"./cmd/sluice/internal/measure": measuring,
			"./cmd/sluice/internal/plot":    "pictures of a channel's state",
			"./cmd/sluice/internal/predict": "the law that a sweep over CPUs follows",
			"./cmd/sluice/internal/stat":    "findings are differences beyond noise",
		},
	},
	"cmd/sluice/internal/doctor": {
		imports: permissions{
			"./cmd/sluice/internal/flowmap": "the map as text",
			"./livepage":                    "the map as the service sends it",
			"./cmd/sluice/internal/address": addresses,
			"./cmd/sluice/internal/plot":    "predicted gains on the page",
			"./cmd/sluice/internal/profile": "the captures to diagnose",
			"./cmd/sluice/internal/format":  lineBreaks,
			"./cmd/sluice/internal/report":  "the style of all pages, and results.json",
			"./cmd/sluice/internal/lab":     "the contenders whose figures are prices",
			"./cmd/sluice/internal/measure": "labels and units of results.json",
		},
		tests: permissions{"./cmd/sluice/internal/stat": "summaries of the lab"},
	},
	"cmd/sluice/internal/flowmap": {
		imports: permissions{
			"./cmd/sluice/internal/format":         lineBreaks,
			"./livepage":                           "the map as the service sends it",
			"github.com/clipperhouse/displaywidth": "how wide a name is",
		},
	},
	"cmd/sluice/internal/host": {
		imports: permissions{"./bench/cacheline": "how far the cores are from each other"},
	},
	"cmd/sluice/internal/measure": {
		imports: permissions{
			"./cmd/sluice/internal/host":      "which other processes used the machine meanwhile",
			"github.com/google/pprof/profile": "the block profile, as Go itself reads it",
		},
	},
	"cmd/sluice/internal/plot":   {imports: permissions{"./cmd/sluice/internal/format": lineBreaks}},
	"cmd/sluice/internal/format": {},
	"cmd/sluice/internal/predict": {
		imports: permissions{
			"./bench/contender":             contenders,
			"./bench/workload":              workloads,
			"./cmd/sluice/internal/format":  lineBreaks,
			"./cmd/sluice/internal/measure": measuring,
			"./cmd/sluice/internal/stat":    "medians and intervals of what was measured",
			"golang.org/x/perf/benchfmt":    "reads the curve from results.txt",
		},
	},
	"cmd/sluice/internal/profile": {
		imports: permissions{
			"./cmd/sluice/internal/address":         addresses,
			"./livepage":                            "the map as the service sends it",
			"github.com/google/pprof/profile":       "the format of profiles",
			"github.com/prometheus/client_model/go": "samples that expfmt has parsed",
			"github.com/prometheus/common/expfmt":   "the text format of Prometheus",
			"github.com/prometheus/common/model":    "the names that expfmt accepts",
			"golang.org/x/exp/trace":                "the format of execution traces",
		},
		tests: permissions{
			"./": theStacks, "./batch": theStacks, "./fan": theStacks, "./workers": theStacks,
		},
	},
	"cmd/sluice/internal/progress": {
		imports: permissions{
			"./cmd/sluice/internal/format":      lineBreaks,
			"./cmd/sluice/internal/measure":     measuring,
			"github.com/schollz/progressbar/v3": "the bar on a terminal",
			"golang.org/x/term":                 "is it a terminal?",
		},
	},
	"cmd/sluice/internal/report": {
		imports: permissions{
			"./cmd/sluice/internal/lab":     "what the figures mean",
			"./cmd/sluice/internal/host":    "where they were measured",
			"./cmd/sluice/internal/measure": measuring,
			"./cmd/sluice/internal/plot":    "charts on the page",
			"./cmd/sluice/internal/format":  lineBreaks,
			"./cmd/sluice/internal/stat":    "medians and intervals",
			"golang.org/x/perf/benchfmt":    "results.txt as benchstat reads it",
		},
	},
	"cmd/sluice/internal/stat": {
		imports: permissions{
			"./cmd/sluice/internal/format": lineBreaks,
			"golang.org/x/perf/benchmath":  "intervals and tests without our own mathematics",
		},
	},
	"cmd/sluice/internal/watch": {
		imports: permissions{
			"./cmd/sluice/internal/address":        addresses,
			"./cmd/sluice/internal/flowmap":        "the map as text",
			"./cmd/sluice/internal/format":         lineBreaks,
			"./livepage":                           "the JSON of a service",
			"github.com/clipperhouse/displaywidth": "the display width of names",
			"github.com/gdamore/tcell/v3":          "the terminal",
			"github.com/gdamore/tcell/v3/color":    "its palette",
			"golang.org/x/term":                    "detects a terminal",
		},
		tests: permissions{
			"./":                             theLibrary,
			"github.com/gdamore/tcell/v3/vt": "a terminal to test with",
		},
	},

	// What checks the repository and is no part of it.
	"tools/page": {
		imports: permissions{
			"github.com/chromedp/chromedp":          "drives the browser",
			"github.com/chromedp/cdproto/emulation": "light, dark, paper",
			"github.com/chromedp/cdproto/log":       "the browser's log for a page",
			"github.com/chromedp/cdproto/network":   "what a page asks for",
			"github.com/chromedp/cdproto/runtime":   "what a script says and throws",
		},
	},
	"tools/alerts":    {},
	"tools/dashboard": {},
	"tools/pictures": {
		imports: permissions{
			"./tools/page":          "the browser, and programs with a page",
			"github.com/creack/pty": "a terminal for the tool",
		},
	},
	"tools/pictures/service": {
		imports: permissions{
			"./":         "channels to show",
			"./livepage": "the page that is photographed",
		},
	},
	"tools/site": {
		imports: permissions{
			"./tools/page":                 "the browser, and what holds of every page",
			"github.com/chromedp/chromedp": "drives the browser",
		},
	},
	"tools/workflows": {},
	"tools/release": {
		imports: permissions{
			"golang.org/x/mod/modfile":       "reads and writes go.mod and go.work",
			"golang.org/x/mod/module":        "which versions are made up",
			"golang.org/x/mod/semver":        "compares versions",
			"golang.org/x/exp/apidiff":       "compares the APIs of two versions",
			"golang.org/x/tools/go/packages": "reads an API",
		},
	},
	"tools/live": {
		imports: permissions{
			"./tools/page":                 "the browser, and what holds of every page",
			"github.com/chromedp/chromedp": "drives the browser",
		},
		tests: permissions{
			"./livepage": "maps that are made up",
		},
	},
	"tools/live/service": {
		imports: permissions{
			"./":         "channels to look at",
			"./livepage": "the page that is checked",
		},
	},
}
