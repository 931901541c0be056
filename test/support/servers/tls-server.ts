import { type KeyObject, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';

/** A server that speaks TLS with a certificate that nobody has signed, in front of one that does not. */
export interface TlsServer {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * @param behind the port of the server behind it, on the loopback interface
 * @param port its own; `0`: any
 */
export async function startTlsServer(behind: number, port = 0): Promise<TlsServer> {
  const sockets = new Set<{ destroy(): unknown }>();
  const server = createServer(selfSigned('localhost'), (socket: TLSSocket) => {
    const plain = connect({ host: '127.0.0.1', port: behind });
    for (const end of [socket, plain]) {
      sockets.add(end);
      end.on('error', () => {
        socket.destroy();
        plain.destroy();
      });
    }
    socket.pipe(plain).pipe(socket);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      if (!server.listening) return;
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A key and a certificate for it, made here: Node.js can read certificates, but has nothing that makes one. */
function selfSigned(name: string): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const subject = sequence(der(0x31, sequence(objectId(0x55, 0x04, 0x03), der(0x0c, Buffer.from(name)))));
  const content = sequence(
    der(0x02, Buffer.from([1])),
    algorithm,
    subject,
    sequence(utcTime('250101000000Z'), utcTime('491231235959Z')),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = sign('sha256', content, privateKey);
  const certificate = sequence(content, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  return { key: pem(privateKey), cert: pemOf('CERTIFICATE', certificate) };
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function pemOf(label: string, content: Buffer): string {
  return `-----BEGIN ${label}-----\n${content.toString('base64')}\n-----END ${label}-----\n`;
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function objectId(...bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function utcTime(time: string): Buffer {
  return der(0x17, Buffer.from(time));
}

/** Tag, length and content, as X.690 writes them; for contents of up to 65,535 bytes. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
