package inspect

import (
	"github.com/sluice-go/sluice/internal/flow"
	"github.com/sluice-go/sluice/internal/registry"
)

// A Stage is a function of the program that sends into named channels, or receives from
// them. Functions that are called by several stages, and wrappers around goroutines and
// requests, are not stages.
type Stage struct {
	Name     string // unique and short: "parse", "Server.upload"
	Function string // with the path of its package
	File     string
	Line     int
	Sends    []uint64 // the IDs of the channels that it sends into, in ascending order
	Receives []uint64 // the IDs of the channels that it receives from
}

// Stages returns the stages of the program as far as they were seen lately. A named
// channel samples its callers before they park, in a few of many sends, and in the first
// send and the first receive after each call of Stats: so a stage whose calls never wait
// may be missing until Stats was called once more. Channels listed by [Register] have no
// stages.
//
// Stages takes milliseconds if there are many channels. Package livepage shows the stages as
// a map, with the rates of the channels, and names the stage that holds the program back.
func Stages() []Stage {
	entries := registry.Channels()
	channels := make([]flow.Channel, 0, len(entries))
	for _, e := range entries {
		channels = append(channels, flow.Channel{ID: e.ID, Name: e.Name, Sites: e.Sites})
	}
	drawn := flow.Draw(channels)
	stages := make([]Stage, len(drawn.Stages))
	at := make(map[string]*Stage, len(stages))
	for i, s := range drawn.Stages {
		stages[i] = Stage{Name: s.Name, Function: s.Function, File: s.File, Line: s.Line}
		at[s.ID] = &stages[i]
	}
	for _, e := range drawn.Edges {
		s := at[e.Stage]
		if e.Side == flow.Send {
			s.Sends = append(s.Sends, e.Channel)
		} else {
			s.Receives = append(s.Receives, e.Channel)
		}
	}
	return stages
}
