package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// send.svg is drawn from this list, not from output: how a Send of a spill.Durable becomes stored.
// Each step names its function, which must exist in sendSources.

var sendSources = []string{"spill/record_batch.go", "spill/durable_send.go", "spill/durable_policy.go", "spill/internal/logstore/write.go"}

// A step is a step of a Send.
type step struct {
	locked   bool // with mu of the Durable held
	title    string
	function string
	state    string // of the record, from here on
	notes    []string
}

// A sendPart is the steps of one goroutine.
type sendPart struct {
	actor string
	steps []step
}

var sendParts = []sendPart{
	{"the sender", []step{
		{false, "encode", "fill", "", []string{"a codec may be slow or panic: no lock"}},
		{true, "reserve room", "reserve", "reserved", []string{
			"none, Block: wait in the queue of senders", "none, Reject, DropNewest: return", "none, DropOldest, MaxAge: join as loose"}},
		{true, "join the pending commit", "join", "joined", []string{"it gathers members while another is written"}},
		{false, "lead it, or wait", "await", "", []string{
			"no goroutine leads: lead → 5", "the token arrives: lead → 5", "done: a leader has written it → 12",
			"the context ends: withdraw, if pending"}},
	}},
	{"its leader, for all members", []step{
		{true, "take the commit", "write", "written", []string{"later senders join the next one"}},
		{true, "admit loose records", "admit", "", []string{"each evicts the oldest, or is refused"}},
		{false, "write to the segment", "append", "", []string{"if the file is as the last commit left it", "acknowledgments, copies, new records"}},
		{false, "sync", "append", "stored", []string{"if file and lock are still there", "a crash keeps the commit from here on"}},
		{false, "change the store's state", "apply", "", []string{"for a moment with the lock of the store"}},
		{true, "publish", "publish", "queued", []string{
			"counts, window; evicted: gone, or queued again", "serve receivers, and senders without room"}},
		{true, "pass leadership on", "write", "", []string{"to a member of the pending commit; done"}},
	}},
	{"each member", []step{
		{false, "settle", "settleDrops", "", []string{"call the hook for what its records dropped", "all its records were refused → 2", "else return nil"}},
	}},
}

// sendStates are what follows for a record.
var sendStates = []string{
	"queued → delivered → acked → deleted", "Nack, or the store was opened again → queued", "evicted, or too old: queued → dropping → deleted",
}

const sendColumns = 49

var (
	soft  = style{dim: true}
	lock  = style{color: 5}
	state = style{color: 3, bold: true}
)

// drawSend draws the steps of a Send. sources is the text of sendSources.
func drawSend(parts []sendPart, sources string) ([]byte, error) {
	head := []string{"A Send joins a commit,", "which one of its members writes for all."}
	lines := [][]span{{{head[0], style{bold: true}}}, {{head[1], style{bold: true}}}, {{"▌", lock}, {" with the lock of the Durable", soft}}}
	n := 0
	for _, part := range parts {
		lines = append(lines, nil, []span{{"  " + part.actor, soft}})
		for _, s := range part.steps {
			if !regexp.MustCompile(`(?m)^func (\(.*\) )?` + s.function + `\(`).MatchString(sources) {
				return nil, fmt.Errorf("send.svg: step %q: no function %s in %s", s.title, s.function, strings.Join(sendSources, ", "))
			}
			n++
			bar := span{"  ", soft}
			if s.locked {
				bar = span{"▌ ", lock}
			}
			head := []span{bar, {fmt.Sprintf("%2d ", n), style{bold: true}}, {s.title, style{bold: true}}, {"  " + s.function, soft}}
			if s.state != "" {
				head = append(head, span{strings.Repeat(" ", sendColumns-width(head)-utf8.RuneCountInString(s.state)), soft}, span{s.state, state})
			}
			lines = append(lines, head)
			for _, note := range s.notes {
				lines = append(lines, []span{bar, {" │ " + note, style{}}})
			}
		}
	}
	lines = append(lines, nil, []span{{"  the record, from then on", soft}})
	for _, text := range sendStates {
		lines = append(lines, []span{{"  " + text, state}})
	}
	return drawScreen(strings.Join(head, " "), lines), nil
}

// sendSource returns the text of sendSources.
func (w *workshop) sendSource() (string, error) {
	var all strings.Builder
	for _, name := range sendSources {
		text, err := os.ReadFile(w.path(name))
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	return all.String(), nil
}
