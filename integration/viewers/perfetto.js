// Runs Perfetto's trace processor on a file and reports what it read. See check-perfetto.
'use strict';
const fs = require('fs');
const { TraceProcessor } = require('./perfetto-engine.js');

const [web, file, ...options] = process.argv.slice(2);
const COUNTS = {
  processes: 'select count(*) from process where pid != 0',
  threads: 'select count(*) from thread where tid != 0',
  slices: 'select count(*) from slice',
  open_slices: 'select count(*) from slice where dur = -1',
  depth: 'select max(depth) + 1 from slice',
  samples: 'select count(*) from perf_sample',
  samples_without_stack: 'select count(*) from perf_sample where callsite_id is null',
  callsites: 'select count(*) from stack_profile_callsite',
  frames: 'select count(*) from stack_profile_frame',
  mappings: 'select count(*) from stack_profile_mapping',
  counters: 'select count(*) from counter',
  start_ns: 'select start_ts from trace_bounds',
  length_ns: 'select end_ts - start_ts from trace_bounds',
};
const ERRORS = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')";

// The importer takes a protobuf file that ends in the middle of a packet without a word.
function checkWhole(bytes) {
  const number = (at) => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      if (at >= bytes.length) throw new Error('torn trace: ends in a packet header');
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return [value, at];
    }
  };
  let at = 0;
  while (at < bytes.length) {
    if (bytes[at] !== 0x0a) throw new Error('no packet at byte ' + at);
    const [length, payload] = number(at + 1);
    at = payload + length;
  }
  if (at !== bytes.length) throw new Error('torn trace: the last packet is cut');
}

async function report() {
  const bytes = fs.readFileSync(file);
  if (bytes[0] === 0x0a) checkWhole(bytes);
  const processor = await TraceProcessor.start(web);
  await processor.load(bytes);
  const found = {};
  for (const [name, query] of Object.entries(COUNTS)) {
    found[name] = Object.values((await processor.query(query))[0])[0];
  }
  found.errors = await processor.query(ERRORS);
  found.rows = [];
  for (let i = 0; i < options.length; i += 2) {
    if (options[i] !== '--sql') throw new Error('unknown option ' + options[i]);
    found.rows.push(await processor.query(options[i + 1]));
  }
  const holds = found.slices + found.samples + found.counters > 0;
  const whole = !found.open_slices && !found.samples_without_stack && !found.errors.length;
  return { ok: holds && whole, ...found };
}

report()
  .catch((error) => ({ ok: false, error: String(error.message ?? error).split('\n')[0] }))
  .then((result) => {
    process.stdout.write(JSON.stringify(result, null, 1) + '\n');
    process.exit(result.ok ? 0 : 1);
  });
