package engine

import (
	"reflect"

	"github.com/sluice-go/sluice/internal/callsite"
)

// An Owner is embedded in the public types that have an engine, so that other packages of this
// module find it: a Select waits in it, a batch moves by reference through it. Its method is
// not exported, so it does not show in the types that embed it.
type Owner struct{ self, engine any }

// Own records that self, of which o is a part, is a channel with that engine.
func Own(o *Owner, self, engine any) { o.self, o.engine = self, engine }

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
