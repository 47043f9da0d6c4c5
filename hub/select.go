package hub

import "github.com/sluice-go/sluice/internal/engine"

// An end is a Hub or a Subscription, but not a type that embeds one, which may override its
// methods.
type end interface {
	// engineOf returns the receiver of the call, and its engine.
	engineOf() (self, engine any)
}

func init() {
	engine.EndOf = func(channel any) any {
		if c, ok := channel.(end); ok {
			if self, e := c.engineOf(); self == channel {
				return e
			}
		}
		return nil
	}
}

func (h *Hub[T]) engineOf() (self, engine any) {
	if h == nil {
		panic("hub: nil Hub")
	}
	return h, h.made()
}

func (s *Subscription[T]) engineOf() (self, engine any) {
	if s == nil {
		panic("hub: nil Subscription")
	}
	return s, s.made()
}
