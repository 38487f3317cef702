// Perfetto's trace processor without a browser: the page's worker script, given the few things of
// a worker that it asks for, and its protocol (TraceProcessorRpc messages, each as field 1 of a
// stream) spoken over the port that it takes for the page's.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

// Methods and fields of TraceProcessorRpc.
const METHOD = { append: 1, finalize: 2, query: 3, status: 10 };
const FIELD = { seq: 1, method: 2, fatal: 5, append: 101, query: 103, appendResult: 201, queryResult: 203, finalizeResult: 212 };
const CHUNK_BYTES = 16 << 20;
const START_TIMEOUT_MS = 60000;

function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
}
const numberField = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytesField = (field, bytes) => Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  get done() {
    return this.at >= this.bytes.length;
  }
  // Signed, because cells are.
  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (this.done) throw new Error('a message ends in a number');
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asIntN(64, value));
    }
  }
  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  *fields() {
    while (!this.done) {
      const key = this.varint();
      const read = [() => this.varint(), () => this.take(8), () => this.take(this.varint()), null, null, () => this.take(4)];
      yield [key >>> 3, read[key & 7]()];
    }
  }
}
const fieldsOf = (bytes) => [...new Reader(bytes).fields()];
const fieldOf = (bytes, wanted) => fieldsOf(bytes).find(([field]) => field === wanted)?.[1];

// The cells of one batch: kinds first, then each kind's values one after another.
function* cellsOf(batch) {
  const KIND = { number: 2, float: 3, text: 4 };
  const parts = Object.fromEntries(fieldsOf(batch));
  const packed = (bytes) => {
    const reader = new Reader(bytes ?? Buffer.alloc(0));
    const values = [];
    while (!reader.done) values.push(reader.varint());
    return values;
  };
  const numbers = packed(parts[2]);
  const floats = new Reader(parts[3] ?? Buffer.alloc(0));
  const texts = (parts[5] ?? Buffer.alloc(0)).toString().split('\0');
  for (const kind of packed(parts[1])) {
    if (kind === KIND.number) yield numbers.shift();
    else if (kind === KIND.float) yield floats.take(8).readDoubleLE(0);
    else if (kind === KIND.text) yield texts.shift();
    else yield null;
  }
}

class TraceProcessor {
  constructor() {
    this.inbox = [];
    this.partial = Buffer.alloc(0);
    this.seq = 0;
    this.port = { onmessage: null, postMessage: (bytes) => this.receive(Buffer.from(bytes)) };
  }

  static async start(web) {
    const processor = new TraceProcessor();
    const local = (url) => fs.readFileSync(path.join(web, path.basename(String(url))));
    Object.assign(globalThis, {
      self: globalThis,
      WorkerGlobalScope: class {},
      importScripts() {},
      location: { href: 'http://127.0.0.1/engine_bundle.js', protocol: 'http:', host: '127.0.0.1' },
      fetch: async (url) => new Response(local(url), { headers: { 'content-type': 'application/wasm' } }),
      XMLHttpRequest: class {
        open(_method, url) {
          this.url = url;
        }
        send() {
          this.response = new Uint8Array(local(this.url)).buffer;
          this.status = 200;
        }
      },
    });
    // The script takes a process without a type for plain node, where it would not start.
    process.type = 'renderer';
    for (const level of ['log', 'warn', 'info', 'error']) console[level] = () => {};
    vm.runInThisContext(local('engine_bundle.js').toString());
    globalThis.onmessage({ data: processor.port });
    await processor.ready();
    return processor;
  }

  async ready() {
    const end = Date.now() + START_TIMEOUT_MS;
    while (Date.now() < end) {
      await new Promise((wake) => setTimeout(wake, 50));
      if (!this.port.onmessage) continue;
      try {
        return await this.call(METHOD.status);
      } catch {
        // The module behind the port is not there yet.
      }
    }
    throw new Error('the trace processor did not start');
  }

  receive(bytes) {
    this.partial = Buffer.concat([this.partial, bytes]);
    for (;;) {
      const reader = new Reader(this.partial);
      let length;
      try {
        reader.varint();
        length = reader.varint();
      } catch {
        return;
      }
      if (reader.at + length > this.partial.length) return;
      this.inbox.push(reader.take(length));
      this.partial = this.partial.subarray(reader.at);
    }
  }

  async answer() {
    while (!this.inbox.length) await new Promise((wake) => setImmediate(wake));
    const message = this.inbox.shift();
    const fatal = fieldOf(message, FIELD.fatal);
    if (fatal) throw new Error(fatal.toString());
    return message;
  }

  call(method, field, argument) {
    const parts = [numberField(FIELD.seq, this.seq++), numberField(FIELD.method, method)];
    if (field) parts.push(bytesField(field, argument));
    this.port.onmessage({ data: new Uint8Array(bytesField(1, Buffer.concat(parts))) });
    return this.answer();
  }

  async load(bytes) {
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      const message = await this.call(METHOD.append, FIELD.append, bytes.subarray(at, at + CHUNK_BYTES));
      const error = fieldOf(fieldOf(message, FIELD.appendResult) ?? Buffer.alloc(0), 2);
      if (error) throw new Error(error.toString());
    }
    const message = await this.call(METHOD.finalize);
    const error = fieldOf(fieldOf(message, FIELD.finalizeResult) ?? Buffer.alloc(0), 1);
    if (error?.length) throw new Error(error.toString());
  }

  async query(sql) {
    const columns = [];
    const cells = [];
    let message = await this.call(METHOD.query, FIELD.query, bytesField(1, Buffer.from(sql)));
    for (let last = false; !last; ) {
      for (const [field, value] of fieldsOf(fieldOf(message, FIELD.queryResult))) {
        if (field === 1) columns.push(value.toString());
        if (field === 2) throw new Error(value.toString());
        if (field === 3) {
          cells.push(...cellsOf(value));
          last = fieldOf(value, 6) === 1;
        }
      }
      if (!last) message = await this.answer();
    }
    const rows = [];
    while (cells.length) {
      const row = cells.splice(0, columns.length);
      rows.push(Object.fromEntries(columns.map((column, i) => [column, row[i]])));
    }
    return rows;
  }
}

module.exports = { TraceProcessor };
