package jetstream

import (
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// A channel is over when its stream is sealed and empty, and nothing can come to it any
// more. The servers tell the first two. Where several of them agree on each value, the
// third takes more than that, as a Send that was told nil must not be one too many:
//
//   - They take a value before the seal, and store it after it: what is empty fills
//     again. But a Send is told nil within one attempt, or it is not: a value that comes
//     later than that is nobody's to miss.
//   - Each server hears of the seal by itself. One that has become leader may not have
//     heard of it yet, and takes values until it does. So the attempt counts from when
//     this leader was first seen to be sealed.
//   - While there is no leader, every server answers for itself, also one that missed the
//     last values. That is no word of the end.
//   - A leader that is cut off goes on answering, while the others may have elected
//     another one. They do when they have not heard of it for four seconds: so a majority
//     must have been heard by it lately.
//   - A leader that stood still does not know for how long. So the attempt begins anew
//     with each question that is not answered.

// An ending is the leader that says that the stream is sealed, and since when it does.
// It belongs to whoever holds core.asking.
type ending struct {
	leader  string
	elected time.Time // zero of servers that do not say
	since   time.Time
}

// heardLately is less than the four seconds after which servers elect another leader, by
// more than the way of a word takes, and more than the second between two words of theirs.
const heardLately = 3 * time.Second

// over tells whether the stream, which is sealed, is empty for good: so info says, for
// which the servers were asked and which they answered at these times.
func (c *core) over(info *natsjs.StreamInfo, asked, answered time.Time) bool {
	if info.Config.Replicas == 1 { // now: that can be changed, unlike Options
		return info.State.Msgs == 0
	}
	now, e := ending{}, &c.ending
	if cluster := info.Cluster; cluster != nil {
		now.leader, now.since = cluster.Leader, answered
		if cluster.LeaderSince != nil {
			now.elected = *cluster.LeaderSince
		}
	}
	if now.leader != e.leader || !now.elected.Equal(e.elected) {
		*e = now
	}
	return e.leader != "" && info.State.Msgs == 0 && asked.Sub(e.since) >= attempt && leads(info)
}

// leads tells whether the leader has heard of a majority lately: of all, as there are more of
// them than Replicas while the stream moves to other servers.
func leads(info *natsjs.StreamInfo) bool {
	heard, all := 1, max(info.Config.Replicas, 1+len(info.Cluster.Replicas)) // of itself
	for _, other := range info.Cluster.Replicas {
		if other.Active > 0 && other.Active < heardLately { // 0: never
			heard++
		}
	}
	return heard > all/2
}
