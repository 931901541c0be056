import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';

/**
 * Sends commands to a Redis and resolves with the first lines of its reply, or with those that came before it hung up.
 * Uses plain sockets, because no client is installed yet.
 */
export function askRedis({ host, port, tls = false }, commands, { lines, timeout = 5000 }) {
  return new Promise((resolve, reject) => {
    const socket = tls ? connectTls({ host, port, servername: isIP(host) ? '' : host }) : connect({ host, port });
    let reply = '';
    const received = () => reply.split('\r\n').slice(0, -1);
    const settle = (callback, value) => {
      socket.destroy();
      callback(value);
    };
    socket.setTimeout(timeout, () => settle(reject, new Error(`no answer within ${timeout} ms`)));
    socket.on('error', (error) => settle(reject, error));
    socket.on('end', () => settle(resolve, received()));
    socket.on('data', (chunk) => {
      reply += chunk;
      if (received().length >= lines) settle(resolve, received().slice(0, lines));
    });
    socket.write(commands.map(encode).join(''));
  });
}

function encode(command) {
  return `*${command.length}\r\n${command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`;
}
