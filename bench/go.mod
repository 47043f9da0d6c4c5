module github.com/sluice-go/sluice/bench

go 1.26.0

require (
	code.hybscloud.com/iox v0.3.6
	code.hybscloud.com/lfq v0.1.5
	github.com/ThreeDotsLabs/watermill v1.5.1
	github.com/alitto/pond/v2 v2.7.1
	github.com/kelindar/event v1.5.2
	github.com/panjf2000/ants/v2 v2.12.1
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/sluice-go/sluice v0.0.0
	github.com/smallnest/chanx v1.2.0
	github.com/smarty/go-disruptor v0.5.0
	github.com/sourcegraph/conc v0.3.0
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
)

require (
	code.hybscloud.com/atomix v0.1.4 // indirect
	code.hybscloud.com/spin v0.1.6 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/lithammer/shortuuid/v3 v3.0.7 // indirect
	github.com/oklog/ulid v1.3.1 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	go.uber.org/atomic v1.7.0 // indirect
	go.uber.org/multierr v1.9.0 // indirect
)

replace github.com/sluice-go/sluice => ../
