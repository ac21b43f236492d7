import type { PushRow } from '../../base/message.js'
import type { DeliveryHandler } from '../../jobs/outbox/delivery.js'
import { devices, pushToken } from '../devices/device.js'
import { schedulePhoneAnswer } from '../second-factor/phone.js'

export const pushDeliveryHandler: DeliveryHandler<PushRow, void> = {
  async send({ id, subject, text, device_id, data }, service) {
    const device = await service.storage.read((tx) => tx.get(devices, device_id))
    // The user may have removed the device since.
    if (!device) return
    const token = await pushToken(device, service)
    if (token === undefined) throw new Error(`a different key encrypted the token of device ${device.id}`)
    const { platform } = device
    await service.push.send({ id: String(id), device: { platform, token }, title: subject, body: text, data })
  },

  async settle(tx, push, _result, { clock }) {
    await schedulePhoneAnswer(tx, push, clock.now())
    return 'sent'
  },
}
