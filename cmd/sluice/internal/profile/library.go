package profile

import (
	"path"
	"strings"
)

// The channels of this module are ordinary Go code: a Send is a dozen frames
// that end in a lock of package spin, or in a receive from the channel of a
// parked goroutine. They count as one operation at the line of the program that
// calls them, which is what a reader can change:
//
//   - the innermost frame of the program decides: frames of this module and of
//     the standard library below it are the operation, frames above it are what
//     called the program, such as the loop of a worker;
//   - the outermost method below it names the operation: a Send that parks in a
//     receive is a send;
//   - a goroutine without a frame of the program, such as a worker that waits, is
//     at the outermost function of this module.

// Module is the path of this module.
const Module = "github.com/sluice-go/sluice"

// programs are the folders of this module that use the library as any other
// program does.
var programs = map[string]bool{
	"bench": true, "cmd": true, "examples": true, "metrics": true, "stress": true, "sluicetest": true, "tools": true,
}

// stored are modules that keep the values of package jetstream: part of an
// operation if this module calls them.
var stored = []string{"github.com/nats-io/"}

// library reports whether f is a function of this module's library.
func library(f Frame) bool {
	rest, ok := strings.CutPrefix(f.Package(), Module)
	if !ok || rest != "" && rest[0] != '/' {
		return loop(f)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	return !programs[first] || loop(f)
}

// loops are the iterators of this module by their file. The compiler inlines
// them into the function that loops, and names them after it and by a number:
// main.report.(*Values).All.func1.
var loops = map[string]string{
	".(*Values).All": "values.go", ".(*channel).Drain": "channel.go", ".(*Batches).All": "receive.go",
	".(*Results).All": "results.go", ".(*Receiver).Drain": "receiver.go", ".(*Channel).Drain": "channel.go",
	".(*Subscription).Drain": "subscription.go",
}

// loop reports whether f is an inlined iterator of this module.
func loop(f Frame) bool {
	iterator, isClosure := strings.CutSuffix(strings.TrimRight(f.Function, "0123456789"), ".func")
	if !isClosure || !strings.HasSuffix(iterator, ").All") && !strings.HasSuffix(iterator, ").Drain") {
		return false // a trace has millions of frames
	}
	for name, file := range loops {
		if strings.HasSuffix(iterator, name) && path.Base(strings.ReplaceAll(f.File, `\`, "/")) == file {
			return true
		}
	}
	return false
}

// calls are the methods and functions of this module that move values.
var calls = map[string]Op{
	"Send": Send, "SendBatch": Send, "SendKey": Send, "SendAt": Send, "SendAfter": Send, "Flush": Send,
	"Recv": Receive, "RecvBatch": Receive, "All": Range,
	"TrySend": PollSend, "TryRecv": PollReceive, "TryRecvBatch": PollReceive, "Drain": PollReceive,
	"Select": Select, "Close": Close,
}

// call returns the operation of a function of this module and its name, if it
// moves values.
func call(f Frame) (op Op, name string) {
	if f.Package() == Module+"/internal/park" {
		return Other, ""
	}
	parts := strings.Split(f.Function[strings.LastIndexByte(f.Function, '/')+1:], ".")
	for i := len(parts) - 1; i > 0; i-- {
		name = parts[i]
		if digits := strings.TrimPrefix(name, "func"); digits != "" && strings.Trim(digits, "0123456789") == "" {
			continue // a closure: the function around it
		}
		op = calls[name]
		if op == Close && f.Package() == Module+"/batch" {
			op = Send // Close of a batch.Sender flushes
		}
		if op == Other {
			name = ""
		}
		return op, name
	}
	return Other, ""
}

// standard are the folders of the standard library.
var standard = func() map[string]bool {
	folders := map[string]bool{}
	for folder := range strings.FieldsSeq("archive bufio bytes cmp compress container context crypto database embed encoding errors " +
		"expvar flag fmt go hash html index internal io iter log maps math mime net os path reflect regexp runtime slices sort strconv " +
		"strings structs sync syscall testing text time unicode unique unsafe weak") {
		folders[folder] = true
	}
	return folders
}()

// between reports whether f may be between frames of this module: the standard
// library, or a store of values.
func between(f Frame) bool {
	pkg := f.Package()
	for _, module := range stored {
		if strings.HasPrefix(pkg, module) {
			return true
		}
	}
	first, _, _ := strings.Cut(pkg, "/")
	return standard[first]
}

// called extends an operation whose innermost visible frame is s[at]: if this
// module made it, it returns the program's line that called the module, and the
// operation. Without a frame of the program, the line is the outermost one of
// this module. name is "" for an operation of another package.
func called(s stack, at int) (line int, op Op, name string) {
	i := at
	for i < len(s) && !library(s[i]) {
		if !hidden(s[i]) && !between(s[i]) {
			return at, Other, ""
		}
		i++
	}
	if i == len(s) {
		return at, Other, ""
	}
	outermost := i
	for ; i < len(s); i++ {
		switch {
		case hidden(s[i]):
		case library(s[i]):
			outermost = i
			if known, of := call(s[i]); known != Other {
				op, name = known, of
			}
		case !between(s[i]):
			return i, op, name
		}
	}
	return outermost, op, name
}

// inEngineLock reports whether below, the frames inside an operation of this
// module, waits for a lock of an engine.
func inEngineLock(below stack) bool {
	for _, f := range below {
		switch f.Package() {
		case Module + "/internal/spin":
			if strings.Contains(f.Function, "Lock).") || strings.Contains(f.Function, "(*Gate).") {
				return true
			}
		case Module + "/internal/segqueue":
			if strings.HasSuffix(f.Function, "(*side).lock") || strings.HasSuffix(f.Function, "(*side).lockTaken") {
				return true
			}
		}
	}
	return false
}
