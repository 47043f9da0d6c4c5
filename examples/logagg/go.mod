module github.com/sluice-go/sluice/examples/logagg

go 1.26.0

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe
	github.com/leodido/go-syslog/v4 v4.5.0
	github.com/sluice-go/sluice v0.0.0
	github.com/sluice-go/sluice/bench v0.0.0
	github.com/valyala/fastjson v1.6.10
)

replace (
	github.com/sluice-go/sluice => ../../
	github.com/sluice-go/sluice/bench => ../../bench
)
