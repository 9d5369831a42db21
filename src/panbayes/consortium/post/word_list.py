"""The 1,024 words that fingerprints are spoken in: common things, no two of them one letter apart."""

from __future__ import annotations

from typing import Final

__all__ = ["WORDS"]

_TEXT: Final = """
accordion acorn actor adobe airport album alcove algebra almond alpine amber ambulance anchor angel animal ankle
antler apple apricot april apron aquarium arcade archway arctic arena armchair arrow artist ash aspen asphalt
astronaut atlas atom attic auburn august autumn avenue avocado axle backpack badger bagel bakery balcony ballad
ballet balloon bamboo banana bandage banjo banner barber barley barn barometer barrel basil basket bassoon bathtub
battery bayonet beacon beaver bedrock beehive beetle bell bench berry bicycle billboard binoculars birch biscuit
bison blackboard blanket blizzard blossom blouse bluebird board boiler bonfire bonnet bookshop border botany bottle
boulder bouquet bowl bracelet bracket bramble branch brass bread breeze brick bridge briefcase broccoli bronze brook
bubble bucket buckle buffalo bugle bulldog bumper bundle bungalow butler buttercup button cabbage cabin cactus cafe
calcium calendar camel camera campfire canal canary candle canoe canvas canyon caramel caravan carbon cardigan cargo
caribou carnival carpet carriage carrot cartoon cascade cashew castle catalog catfish cathedral cedar cellar cello
cement ceramic cereal chalk champion chandelier chapel charcoal chariot checkers cheddar cheetah cherry chess
chestnut chicken chimney chipmunk chisel chocolate chorus cider cinema cinnamon circle circus citadel citrus city
clarinet classroom clay cliff climate cloak clover coach coast cobalt cobweb coconut coffee comet compass concert
condor copper coral corner cosmos cottage cotton cougar courtyard cousin cowboy coyote cradle crane crater crayon
cricket crimson crocus crossing crown crystal cucumber cupboard curtain cushion custard cyclone cymbal cypress
daffodil dairy damson dancer dandelion daughter december deck deer delta denim dentist depot detour diamond diary
diesel dinner diploma doctor dolphin domino donkey doorbell dormouse dove dragon drawer driver drizzle drum duchess
duckling dumpling dune dusk eagle earring earth echo eclipse editor egg elbow elder elephant elevator elk emerald
emperor empire engine envelope equator ermine essay estuary evening everest exit fabric factory falcon farmer
feather february fennel fiddle fig film finch finger firefly fireplace fjord flagpole flame flamingo flannel flask
flint flood florist flour flute foam folder forest fork fortress fossil fountain fox fragment freckle freezer
freight friday fringe frog frost fudge furnace futon gadget galaxy gallery garage garden garlic garnet gazelle gecko
geese gelatin gemini geology geyser giant giraffe glacier glass glider globe glue goblet goldfish gondola gorilla
gospel gourd granite grape gravel gravy greenhouse griffin grocer grotto guitar gull gumdrop gutter gypsum habitat
haddock halibut hallway halo hammer hammock hamster hangar harbor hardware harmony harp harvest hatchet hawk hazel
headlight hedgehog helium helmet hemlock herald herring hexagon hickory highway hill hinge hippo hobby hockey
holiday hollow honey hood horizon hornet horse hospital hotel hound hummus hurdle husky hut hydrogen hyena iceberg
icicle igloo iguana illusion incense index indigo infant ink insect iris iron island ivory ivy jacket jackpot jaguar
january jar jasmine javelin jelly jester jigsaw journal journey jubilee juice july jungle juniper jupiter kangaroo
kayak kelp kernel kettle keyboard kidney kilogram kimono kingdom kiosk kitchen kite kitten kiwi knapsack knee knight
knob koala label ladder ladybug lagoon lake lamp lantern larch laser lattice laundry laurel lava lavender lawn leaf
lecture ledge legend lemon lentil leopard lettuce library lichen lifeboat lighthouse lilac lily lime linen lion
lizard llama lobster locket locust lollipop loom lotus lullaby lumber lunch lynx lyric macaroni machine magazine
magenta magnet magnolia magpie mahogany mailbox mallard mammoth mandolin mango mansion maple marble margin marigold
marina market marmalade maroon marsh marzipan mascot mast matrix mattress meadow medal melody melon mercury mermaid
meteor metro midnight mineral minnow mint minute mirror mocha molar monday monsoon moon moose mosaic moss moth motor
mud muffin mulberry museum mushroom music mussel myrtle napkin nebula necklace nectar needle nephew neptune nest
neutron newspaper nickel noodle north notebook november nugget nutmeg nylon oak oasis oboe ocean october octopus
olive omelette onion opal opera orange orbit orchard orchid oregano organ origami ostrich otter outpost oven oxygen
oyster ozone pacific package paddle pagoda paint palace palette pancake panda panther papaya paper paprika parade
paragraph parcel parlor parsley party passport pasta pastel pasture patio pavement peach peacock peanut pear pebble
pecan pelican pencil pendant penguin penny pepper perfume petal petunia pewter pheasant phoenix photo piano picnic
picture pier pigeon pillar pillow pilot pine pioneer pirate pistachio pitcher pizza planet plank plaster platform
plaza plum poem polka pollen pond poppy porch porcupine porridge portrait postcard potato pottery powder prairie
pretzel prince prism propeller prune pulley pumpkin puppet purple puzzle pyramid python quail quarry quartz quasar
queen quiche quill quince quiver quiz rabbit raccoon radar radio radish raft railway rainbow raisin raspberry rattle
raven recipe record reef reindeer reptile resin rhubarb ribbon rice roadway robin robot rodeo roof rosemary rowboat
ruby rudder rug ruler runway rust sabre saffron sage sailor salad salmon salt sandal sandwich sapphire sardine
satchel satin saturn saucer sauna sausage savanna sawmill saxophone scallop scarecrow scarf school scissors scooter
scorpion scroll sculptor seagull season seesaw september sequoia sesame shadow shamrock shark shawl shelf shepherd
sheriff shield shingle shoelace shore shovel shrimp shuttle sidewalk siesta silk silver siren sister skate ski skunk
skyline sleigh slipper sloth snail snow soap soccer sofa soldier sonata sorbet south soybean spaghetti sparrow
spatula sphinx spider spinach spiral sponge spoon spring spruce squash squirrel stadium staircase stallion stamp
starfish statue steam stencil steward stone stork straw street studio submarine subway sugar suitcase sulfur summer
sunday sundial sunflower surfer swallow swan sweater swing sword sycamore symbol syrup tablet tadpole talcum tandem
tapestry tarantula tart tassel tavern taxi teapot telescope temple tennis tent termite terrace textbook theater
thicket thimble thistle throne thunder thursday thyme tiger timber tinsel titan toad tobacco tomato toolbox topaz
tornado tortoise toucan towel tractor trail trapeze treasure tree trellis triangle trombone trophy trout truck
truffle trumpet tuba tuesday tugboat tulip tundra tunnel turban turkey turnip turtle tuxedo twig twilight typhoon
ukulele umbrella uncle unicorn uniform universe upland uranium urchin utopia vacuum valley valve vanilla vault
velvet vendor venus veranda vessel viaduct victory village vinegar viola violet viper visitor vitamin volcano volume
vortex voyage vulture waffle wagon waiter walnut walrus waltz warbler wardrobe warehouse wasp waterfall wave weasel
wednesday weekend weevil wheat wheel wicker widget wigwam windmill window winter wolf wombat woodland wool workshop
wreath wren wrist xenon xylophone yacht yeast yellow yogurt yonder zebra zenith zephyr zigzag zinc zipper zodiac
zucchini
"""

WORDS: Final = tuple(_TEXT.split())
