// A person with the vendor's own client library: reads {"id", "do", ...} a
// line, writes {"id", "ok"|"error"} and {"event", "data"} a line.
//     node mattermost_person.cjs URL TOKEN
'use strict';
globalThis.WebSocket = require('ws');
globalThis.CloseEvent = globalThis.CloseEvent || class extends Event {
    constructor(type, init) { super(type); Object.assign(this, init); }
};
console.log = (...words) => console.error(...words);
const {Client4, WebSocketClient} = require('@mattermost/client');
const [url, token] = process.argv.slice(2);
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

const rest = new Client4();
rest.setUrl(url);
rest.setToken(token);

const socket = new WebSocketClient({
    minWebSocketRetryTime: 30, maxWebSocketRetryTime: 100,
    reconnectJitterRange: 1, clientPingInterval: 1000,
    newWebSocketFn: (address) => new WebSocket(address, {
        headers: {Authorization: `Bearer ${token}`}}),
});
socket.addMessageListener((event) => say({event: event.event,
    data: event.data, seq: event.seq}));
socket.addMissedMessageListener(() => say({event: 'missed'}));
socket.addReconnectListener(() => say({event: 'reconnected'}));
socket.initialize(`${url.replace('http', 'ws')}/api/v4/websocket`, token);

const work = {
    me: () => rest.getMe(),
    direct: ({users}) => rest.createDirectChannel(users),
    post: ({post}) => rest.createPost(post),
    edit: ({post}) => rest.patchPost(post),
    posts: ({channel}) => rest.getPosts(channel),
    since: ({channel, since}) => rest.getPostsSince(channel, since),
    upload: async ({channel, name, text}) => {
        const form = new FormData();
        form.append('channel_id', channel);
        form.append('files', new Blob([text]), name);
        return rest.uploadFile(form);
    },
    download: async ({file}) => (await fetch(rest.getFileUrl(file), {
        headers: {Authorization: `Bearer ${token}`}})).text(),
    react: ({user, post, emoji}) => rest.addReaction(user, post, emoji),
    typing: ({channel}) => new Promise((done) => socket.userTyping(
        channel, '', done)),
};

require('readline').createInterface({input: process.stdin}).on(
    'line', async (line) => {
        const asked = JSON.parse(line);
        try {
            say({id: asked.id, ok: await work[asked.do](asked)});
        } catch (error) {
            say({id: asked.id, error: {message: error.message,
                id: error.server_error_id, status: error.status_code}});
        }
    }).on('close', () => process.exit(0));
