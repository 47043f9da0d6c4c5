package engine

import (
	"reflect"

	"github.com/sluice-go/sluice/internal/callsite"
)

// An Owner is embedded in the public types that have an engine, so that other packages of this
// module find it: a Select waits in it, a batch moves by reference through it. Its method is
// not exported, so it does not show in the types that embed it.
type Owner struct {
	self, engine any
	kind         bool
}

// Own records that self, of which o is a part, is a channel of package sluice with that engine.
func Own(o *Owner, self, engine any) { *o = Owner{self, engine, true} }

// OwnEnd is Own for an end of a broadcast, whose engine keeps fewer promises.
func OwnEnd(o *Owner, self, engine any) { *o = Owner{self, engine, false} }

func (o *Owner) owner() *Owner { return o }

// Of returns the engine of channel, and whether channel is of a type of this module that has
// one. The engine is nil if channel is nil or a zero value, which no constructor has made. A type
// that embeds a channel is not of this module: it may override methods that the engine would
// bypass.
func Of(channel any) (engine any, ok bool) {
	c, ok := channel.(interface{ owner() *Owner })
	if !ok {
		return nil, false
	}
	if v := reflect.ValueOf(channel); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, true
	}
	switch o := c.owner(); o.self {
	case nil, channel:
		return o.engine, true
	default:
		return nil, false
	}
}

// IsKind reports whether a constructor of package sluice made channel: its engine knows NoWait, and
// one of its waits takes at most one token from the Done channel of a context.
func IsKind(channel any) bool {
	e, _ := Of(channel)
	return e != nil && channel.(interface{ owner() *Owner }).owner().kind
}

// SitesOf returns the call sites of channel, and nil for a channel without a name and for a type
// without an engine.
func SitesOf(channel any) *callsite.Sites {
	engine, _ := Of(channel)
	e, ok := engine.(interface{ Sites() *callsite.Sites })
	if !ok {
		return nil
	}
	return e.Sites()
}
