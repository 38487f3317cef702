// Loads a file with the Firefox Profiler's client and reports its threads. See check-firefox.
'use strict';
const { spawnSync } = require('child_process');
const path = require('path');

const [client, file] = process.argv.slice(2);

function finish(report) {
  console.log(JSON.stringify(report, null, 1));
  process.exit(report.ok ? 0 : 1);
}

function call(...words) {
  const run = spawnSync(process.execPath, [client, ...words, '--session', 'sprof'], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  if (run.status !== 0) {
    const lines = (run.stderr + run.stdout).split('\n').filter((line) => /error/i.test(line));
    finish({ ok: false, step: words.join(' '), error: lines.pop() ?? run.stderr });
  }
  return run.stdout;
}

function ask(...words) {
  const answer = call(...words, '--json');
  return JSON.parse(answer.slice(answer.indexOf('{')));
}

call('load', path.resolve(file));
const meta = ask('profile', 'meta');
const threads = ask('thread', 'list', '--limit', '0').threads.map((thread) => {
  const handle = ['--thread', thread.threadHandle];
  const samples = ask('thread', 'samples', ...handle, '--include-idle');
  return {
    name: thread.name,
    process: thread.processName,
    pid: thread.pid,
    tid: thread.tid,
    samples: ask('thread', 'info', ...handle).sampleCount,
    cpu_ms: thread.cpuMs,
    self: samples.topFunctionsBySelf.slice(0, 3).map(({ nameWithLibrary, selfSamples }) => [nameWithLibrary, selfSamples]),
  };
});
finish({
  ok: threads.some((thread) => thread.samples > 0),
  interval_ms: meta.interval,
  symbolicated: meta.symbolicated,
  threads,
});
