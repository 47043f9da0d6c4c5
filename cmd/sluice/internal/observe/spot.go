package observe

import (
	"slices"
	"strings"

	"golang.org/x/exp/trace"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// A spot is what a stack means, with indexes.
type spot struct {
	placed
	library   bool  // a library that is not this module's is between the line and the wait
	context   bool  // a deadline of a context passed
	deep      bool  // its outermost frame is not the start function
	preempted bool  // the same, possibly: the caller of a leaf may be missing
	closer    *spot // the same as a close: its frame is not in the stack of a wake-up
	line      int32
	role      int32 // -1 without a function of the program
	host      int32 // role of the host; -1 with a function of the program
}

// spot is place with a cache.
func (t *tracer) spot(stack trace.Stack) *spot {
	if s, ok := t.stacks[stack]; ok {
		return s
	}
	var frames capture.Stack
	for f := range stack.Frames() {
		if len(frames) == maxFrames {
			break
		}
		frames = append(frames, capture.Frame{Function: f.Func, File: t.b.home.file(f.File), Line: int(min(f.Line, 1<<31-1))})
	}
	p := place(frames)
	s := &spot{placed: p, deep: len(frames) >= maxDepth, line: t.line(&p), role: -1, host: -1}
	s.library = p.In != "" && (strings.Contains(p.In, "/") || !strings.HasPrefix(p.In, "sync.")) && !slices.ContainsFunc(frames[:p.at], ofModule)
	s.context = p.role.Function == "" && strings.HasPrefix(p.host, "context.")
	s.preempted = len(frames) > 0 && strings.HasPrefix(frames[0].Function, "runtime.asyncPreempt")
	if !p.own {
		role := int32(t.b.role(p))
		for int(role) >= len(t.roles) {
			t.roles = append(t.roles, tracedRole{by: map[int32]int{}})
		}
		if p.role.Function != "" {
			s.role = role
		} else {
			s.host = role
		}
	}
	if len(t.stacks) >= maxPorts {
		clear(t.stacks) // of a hostile file: a service has some thousands
	}
	t.stacks[stack] = s
	return s
}

func ofModule(f capture.Frame) bool { return strings.HasPrefix(f.Function, Module) }

// line returns the index of a line, and adds it.
func (t *tracer) line(p *placed) int32 {
	i, _ := rowOf(t.lineAt, &t.lines, p.Line, maxLines, *p)
	return i
}

// closerOf returns a spot that has no operation as a close.
func (t *tracer) closerOf(s *spot) *spot {
	if s.closer == nil {
		c := *s
		c.Op, c.node, c.name = Close, Channel, ""
		c.line = t.line(&c.placed)
		s.closer = &c
	}
	return s.closer
}

// collecting reports whether a goroutine waits for the collector.
func collecting(reason string) bool {
	return strings.HasPrefix(reason, "GC ") || reason == "wait until GC ends" || reason == "preempted"
}
