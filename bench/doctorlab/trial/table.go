package main

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// Verdicts of the doctor that the score asks for by name.
const (
	undecided = "undecided" // no answer
	stage     = "stage"
	outside   = "outside"
	load      = "load"
	idle      = "idle"
)

// The doctor's remedies.
const (
	batch         = "batch"
	buffer        = "buffer"
	moreReceivers = "more receivers"
	split         = "split by key"
	balance       = "balance keys"
	removeHop     = "remove a hop"
	mutex         = "mutex"
	raiseLimit    = "raise the limit"
	stopPolling   = "stop polling"
	release       = "cancel or close"
	reuse         = "reuse"
	wakeOne       = "signal"
	cheaper       = "cheaper work"
	moreCores     = "more cores"
)

// moreLoad is not a remedy: it measures the headroom of a service that is fine.
const moreLoad = "more load"

// A half is a half of the services. The split is by shape and idiom: each shape has
// idioms in both.
type half string

const (
	tuning half = "tuning"   // the doctor may be changed because of them
	held   half = "held-out" // it may not: they measure how right it is elsewhere
)

// A shape is a shape of bottleneck, with what is right to say about it.
type shape struct {
	name, about string
	// verdicts are right, separated by spaces. There are several where two words describe
	// the same thing; why is in a comment.
	verdicts string
	// accept are remedies that are right and were not built, so that no gain of theirs is
	// known, and harmful are those that break a service of this shape; separated by commas.
	accept, harmful string
	rows            []row
}

// A row is a service.
type row struct {
	half  half
	idiom string
	run   func(*service)
	// right are the built remedies with a measured gain of x1.3 and more, and built are
	// the other ones; separated by commas.
	right, built string
	// places are the functions of package main that it is right to name, separated by
	// spaces. A star stands for the closures of a function.
	places string
}

// A description is what a row and its shape say of a service.
type description struct {
	Name     string   `json:"name"`
	Shape    string   `json:"shape"`
	About    string   `json:"about"`
	Half     half     `json:"half"`
	Idiom    string   `json:"idiom"`
	Verdicts []string `json:"verdicts"`
	Places   []string `json:"places"`
	Right    []string `json:"right"`   // with a measured gain; none if nothing should be changed
	Accept   []string `json:"accept"`  // as right, without a measured gain
	Built    []string `json:"built"`   // without a gain
	Harmful  []string `json:"harmful"` // would break it

	run func(*service)
}

// remedies are those that can be measured.
func (d *description) remedies() []string { return slices.Concat(d.Right, d.Built) }

// all describes all services, by shape.
func all() (services []description) {
	list := func(text string) []string {
		return slices.DeleteFunc(strings.Split(text, ", "), func(s string) bool { return s == "" })
	}
	for _, k := range shapesOf {
		for _, r := range k.rows {
			// The name of a service is its function's.
			name := strings.TrimPrefix(path.Ext(runtime.FuncForPC(reflect.ValueOf(r.run).Pointer()).Name()), ".")
			places := strings.Fields(r.places)
			for i := range places {
				places[i] = "main." + places[i]
			}
			services = append(services, description{name, k.name, k.about, r.half, r.idiom, strings.Fields(k.verdicts), places,
				list(r.right), list(k.accept), list(r.built), list(k.harmful), r.run})
		}
	}
	return services
}

// find returns the service with a name, which must have the remedy.
func find(name, remedy string) (d description, err error) {
	services := all()
	i := slices.IndexFunc(services, func(d description) bool { return d.Name == name })
	if i < 0 {
		return d, fmt.Errorf("unknown service %q: -list prints all of them", name)
	}
	d = services[i]
	if built := d.remedies(); remedy != "" && !slices.Contains(built, remedy) {
		return d, fmt.Errorf("unknown remedy %q of %s (want one of: %s)", remedy, name, strings.Join(built, ", "))
	}
	return d, nil
}

// shapesOf is the table.
var shapesOf = []shape{
	{"copies", "many goroutines send small values to one that copies them: the channel costs more than the work",
		"channel", "", moreReceivers, []row{
			{tuning, "closures", sensors, "batch", "buffer", "sensors.*"},
			{held, "generics, select with a context", positions, "batch", "", "gatherInto emit positions.*"},
			{held, "sluice.Bounded", quotes, "batch", "", "quotes.*"},
		}},
	// All wait for all, and what they spend is the hand-off: both words say it.
	{"chain", "tiny stages behind unbuffered channels",
		"lockstep channel", "", moreReceivers, []row{
			{tuning, "functions", words, "batch, buffer, remove a hop", "", "scan trim classify tally"},
			{held, "generics", prices, "buffer, remove a hop", "", "through.* prices.* feed.* drain"},
			{held, "methods, select with a context", letters, "buffer, remove a hop", "", "(*office).forward emit letters.* drain"},
		}},
	// The dispatcher is one hop more for each job, and no goroutine is busy with anything else.
	{"dispatcher", "a goroutine hands jobs to idle workers over the channels that they hand out",
		"channel lockstep", "", "", []row{
			{tuning, "closures", taxis, "remove a hop, batch", "", "taxis.* feed.*"},
			{held, "generics, select with a context", orders, "remove a hop, batch", "", "(*roster).serve (*roster).share orders.* feed.*"},
			{held, "WaitGroup.Go, replies", calls, "remove a hop, batch", "", "calls.*"},
		}},
	// The owner of the state does nothing but answer: its channel is what costs, and with
	// few callers all wait for all.
	{"actor", "a goroutine owns a table, and others ask it",
		"channel lockstep", "", moreReceivers, []row{
			{tuning, "closures", inventory, "mutex", "", "inventory.*"},
			{held, "generics, select with a context", sessions, "mutex", "", "(*owner).ask.* (*owner).live sessions.*"},
			{held, "sluice.Bounded and Rendezvous", vouchers, "mutex", "", "vouchers.*"},
		}},
	{"channel lock", "a channel lets one goroutine at a time change something",
		"channel", "", "buffer, more receivers, batch, raise the limit", []row{
			{tuning, "closures, the state in the channel", seats, "mutex", "", "seats.*"},
			{held, "wrapper type, sync.Locker", scores, "mutex", "", "baton.Lock baton.Unlock scores.*"},
			{held, "sluice.Bounded", meters, "mutex", "", "meters.*"},
		}},
	// As in a chain. A call under a lock needs no second goroutine either.
	{"mailboxes", "two goroutines wait in each other's mailbox, in turn",
		"lockstep channel", mutex + ", " + removeHop, moreReceivers, []row{
			{tuning, "methods", bids, "batch", "", "(*party).negotiate (*party).respond"},
			{held, "generics, sluice.Rendezvous", clocks, "batch", "", "peer.trade clocks.*"},
			{held, "interface, select with a context", tennis, "remove a hop", "", "(*server).play (*returner).play"},
		}},
	{"goroutines", "a goroutine for each tiny piece of work",
		"channel", reuse + ", " + removeHop, "", []row{
			{tuning, "closures, results", events, "reuse", "", "events.* drain"},
			{held, "errgroup", rows, "batch, remove a hop", "", "rows.*"},
			{held, "generics, wrapper function", totals, "remove a hop", "", "async.* totals.* (*result).await"},
		}},
	// The cost of a receive belongs to the channel; the receiver is busy with making
	// timers, and most of that is memory.
	{"made for each", "a timer or a context is made for each receive",
		"channel stage memory", "", "", []row{
			{tuning, "closures, time.After", alarms, "reuse", "", "alarms.*"},
			{held, "generics, timer", parcels, "reuse", "", "within parcels.*"},
			{held, "sluice.Bounded, context", flights, "reuse", "", "flights.*"},
		}},
	{"slow stage", "one goroutine computes or asks outside, for each value of many senders or of a pipeline",
		"stage", "", "", []row{
			{tuning, "a pipeline of one method, outside", recipes, "more receivers", "", "(*step).run"},
			{tuning, "system calls, methods", audits, "batch", "", "(*audit).run (*audit).put"},
			{held, "eight senders, workers.Run", videos, "more receivers", "", "videos.*"},
			{held, "a pipeline, generics, errgroup", songs, "more receivers", "", "pass.* compress"},
			{held, "a pipeline of sluice.Bounded, outside", stores, "more receivers", "", "stores.*"},
		}},
	// A role that is always in a system call or outside: the role is busy, and what it
	// waits for is a disk or a database.
	{"sink", "one goroutine makes a sync or a transaction for each value, and the senders wait",
		"stage outside", "", "", []row{
			{tuning, "transactions, handlers", guests, "batch, more receivers", "", "(*guestbook).write.* (*table).save commit"},
			{held, "transactions, interface", invoices, "batch", "", "invoices.* (*table).save"},
			{held, "sync, handlers, sluice.Bounded", polls, "batch", "", "polls.*"},
		}},
	// The worker is the busy role, and what it is busy with is outside. A larger n of
	// workers.Run is both more receivers and a higher limit.
	{"one outside", "workers of this module, one of them, which waits outside",
		"stage outside limit", raiseLimit, "", []row{
			{tuning, "workers.Run, closure", mails, "more receivers", "", "mails.*"},
			{held, "workers.Map, Rendezvous", scans, "more receivers", "", "scans.*"},
			{held, "workers.RunKeyed, method", couriers, "more receivers", "", "couriers.* delivery.deliver"},
		}},
	{"skew", "one of several shards has nine of ten values, which stay in order",
		"stage", "", moreReceivers, []row{
			{tuning, "closures", regions, "balance keys", "", "regions.*"},
			{held, "generics, errgroup, outside", buses, "balance keys", "", "(*lanes).send buses.*"},
			{tuning, "workers.RunKeyed", shops, "balance keys", "", "shops.*"},
			{tuning, "interface, a map", orchards, "balance keys", "", "orchards.* lined.add"},
		}},
	// The slow one, or the one that writes to it, is a busy role, and that time is outside.
	// A goroutine for each client is both more of them and a split.
	{"slow reader", "values go to all, of which one is slow: a subscriber, or a client of the network",
		"stage outside", split + ", " + cheaper, "", []row{
			{tuning, "clients, closures", stocks, "more receivers", "", "stocks.*"},
			{held, "package hub", weather, "batch", "", "weather.*"},
			{held, "clients, generics, sluice.Bounded", chats, "more receivers", "", "writeAll chats.*"},
		}},
	{"group limit", "errgroup.SetLimit holds back goroutines that wait outside",
		"limit", "", "", []row{
			{tuning, "closures", thumbnails, "raise the limit", "", "thumbnails.*"},
			{held, "generics", backups, "raise the limit", "", "each backups.*"},
			{held, "WaitGroup.Go, method values", reviews, "raise the limit", "", "reviews.*"},
		}},
	{"connections", "Transport.MaxConnsPerHost holds back the callers of an HTTP client",
		"limit", "", "", []row{
			{tuning, "closures", forecasts, "raise the limit", "", "forecasts.*"},
			{held, "interface, generics, errgroup", offers, "raise the limit", "", "get (*shopAPI).price offers.*"},
			{held, "workers.Run", hooks, "raise the limit", "", "hooks.*"},
		}},
	{"database", "SetMaxOpenConns holds back the callers of database/sql",
		"limit", "", "", []row{
			{tuning, "methods", accounts, "raise the limit", "", "(*customers).balance"},
			{held, "interface, transactions, WaitGroup.Go", transfers, "raise the limit", "", "(*sqlRepository).transfer"},
			{held, "generics, errgroup", tags, "raise the limit", "", "query tags.*"},
		}},
	{"semaphore", "a semaphore, or a channel with slots, holds back goroutines that wait outside",
		"limit", "", mutex, []row{
			{tuning, "weighted, closures", renders, "raise the limit", "", "renders.*"},
			{held, "sluice's, workers.Run", exports, "raise the limit", "", "exports.*"},
			{held, "a channel, wrapper type, select with a context", museums, "raise the limit", "", "gate.enter museums.*"},
		}},
	{"pool", "a pool of connections is too small",
		"limit", "", mutex, []row{
			{tuning, "methods", caches, "raise the limit", "", "(*pool).take (*pool).use"},
			{held, "sync.Cond, WaitGroup.Go", rentals, "raise the limit", "", "(*garage).rent rentals.*"},
			{held, "interface, select with a context", readings, "raise the limit", "", "(*pool).borrow readings.*"},
		}},
	{"hot lock", "one mutex around most of the work",
		"lock", "", "", []row{
			{tuning, "closures, RWMutex", profiles, "split by key", "", "profiles.*"},
			{held, "generics, WaitGroup.Go", routes, "split by key", "", "(*memo).load"},
			{held, "embedded, wrapper functions, errgroup", essays, "split by key", "", "(*counts).locked (*counts).count.*"},
		}},
	{"condition", "a Cond wakes all its waiters for one value",
		"lock", "", "", []row{
			{tuning, "closures", trains, "signal", "", "trains.*"},
			{held, "generics, WaitGroup.Go", tasks, "signal", "", "(*backlog).get (*backlog).put"},
			{held, "one method for both, errgroup", fountains, "signal", "", "(*valve).turn"},
		}},
	// A loop that yields takes cores that nothing else wants: no gain in throughput.
	{"polling", "a select that never waits, or a loop over len, Gosched or a map of channels, beside work",
		"polling", stopPolling, moreReceivers, []row{
			{tuning, "a default, two cases", radars, "stop polling", "", "radars.*"},
			{tuning, "len", ferries, "stop polling", "", "ferries.*"},
			{tuning, "Gosched, methods", lamps, "", "stop polling", "(*lamp).wait"},
			{held, "a closed channel", seminars, "stop polling", "", "seminars.*"},
			{held, "a map of channels, a default", harbors, "stop polling", "", "harbors.*"},
		}},
	// Others wait for the stage, and memory is what it is busy with.
	{"allocating stage", "a stage makes new memory for each value",
		"memory stage", "", "", []row{
			{tuning, "closures", images, "reuse", "", "images.*"},
			{held, "interface, workers.Run", languages, "reuse", "", "fresh.count"},
		}},
	{"garbage", "all goroutines make garbage",
		"memory", cheaper, "", []row{
			{tuning, "methods", summaries, "reuse", "", "(*report).fill summaries.*"},
			{held, "methods, WaitGroup.Go", documents, "reuse", "", "(*encoder).encode"},
		}},
	{"computes", "all cores do the program's own work, and nothing waits but for them",
		"cores", cheaper + ", " + moreCores, "", []row{
			{tuning, "closures", hashes, "", "", "compute.*"},
			{tuning, "methods, quota", signatures, "more cores", "", "signatures.*"},
			{held, "errgroup", fractals, "", "", "fractals.*"},
			{tuning, "generics, other processes", archives, "more cores", "", "mapAll.* archives.*"},
			{held, "methods, semaphore, other processes", mosaics, "more cores", "", "(*studio).draw"},
		}},
	{"bursts", "bursts are refused at a full channel, while the average is idle",
		"shedding", "", "", []row{
			{tuning, "closures", tickets, "buffer", "", "tickets.*"},
			{held, "generics, errgroup", lotteries, "buffer", "", "tryPut lotteries.*"},
			{held, "sluice.Bounded, workers.Run", parades, "buffer", "", "parades.*"},
		}},
	{"fine", "some load, and room for more",
		"load", "", "", []row{
			{tuning, "closures", trips, "", "more load", ""},
			{held, "methods", dresses, "", "more load", ""},
		}},
	// Whether this is a load or too little of one is a matter of words.
	{"written at once", "a writer that batches already, with room for more",
		"load idle", "", "", []row{
			{tuning, "closures, select with a ticker", diaries, "", "more load", ""},
			{held, "package batch", poems, "", "more load", ""},
		}},
	{"idle", "goroutines that wait for rare work, or for the clock",
		"idle load", "", release, []row{
			{tuning, "a pool, closures", butlers, "", "", ""},
			{held, "workers.Run", lawyers, "", "", ""},
			{held, "timers, generics, errgroup", tides, "", "", ""},
		}},
	// The service works on beside it: then a finding "leak" is as right as the verdict. A
	// slot for a late sender ends the wait too.
	{"leak", "each request leaves a goroutine behind",
		"stuck", buffer + ", " + release, moreReceivers, []row{
			{tuning, "methods, no cancel", folders, "", "cancel or close", "(*watcher).follow"},
			{held, "generics, no close", hikes, "", "cancel or close", "merge.*"},
			{held, "interface, no receiver", libraries, "", "cancel or close", "first.*"},
		}},
	{"deadlock", "goroutines wait for each other for ever",
		"stuck", release, "more receivers, batch, reuse", []row{
			{tuning, "two locks", bridges, "", "", "bridges.*"},
			{tuning, "methods, a send under a lock", papers, "", "", "(*newsroom).publish (*newsroom).leave"},
			{held, "WaitGroup.Wait before the receiver", surveys, "", "", "surveys.*"},
			{held, "RLock twice, errgroup", themes, "", "", "(*settings).get (*settings).both (*settings).set"},
		}},
	// The pool is a limit, and it is exhausted for ever.
	{"exhausted", "all holders of a pool wait for the pool",
		"stuck limit", release, "", []row{
			{tuning, "database/sql, handlers", shipments, "", "", "(*warehouse).ship"},
			{tuning, "closures, a channel", lookups, "", "", "lookups.*"},
			{held, "semaphore, methods", menus, "", "", "(*kitchen).cook"},
			{held, "errgroup, closures", families, "", "", "families.*"},
		}},
}
