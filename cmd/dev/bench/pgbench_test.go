package main

import "testing"

func TestReadPgbench(t *testing.T) {
	rate, err := readPgbench([]byte(`transaction type: insert.sql
scaling factor: 1
query mode: prepared
number of clients: 16
number of threads: 2
maximum number of tries: 1
duration: 5 s
number of transactions actually processed: 61234
number of failed transactions: 0 (0.000%)
latency average = 1.306 ms
initial connection time = 12.345 ms
tps = 12249.871234 (without initial connection time)
`))
	if err != nil || rate != 12249.871234 {
		t.Errorf("the rate is %v, %v", rate, err)
	}
	if rate, err := readPgbench([]byte("pgbench: error: connection failed\n")); err == nil {
		t.Errorf("without a rate it is %v", rate)
	}
}
